// SPDX-License-Identifier: Apache-2.0

package member

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// paged returns a connection to a member that answers a list in three pages. asked has the requests that the member
// got.
func paged(t *testing.T) (conn *Conn, asked *[]string) {
	t.Helper()
	asked = &[]string{}
	next := map[string]string{"": "one", "one": "two", "two": ""}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		token := req.URL.Query().Get("continue")
		*asked = append(*asked, req.URL.Query().Get("limit")+" "+token+" "+req.Header.Get("Accept"))
		page := metav1.PartialObjectMetadataList{ListMeta: metav1.ListMeta{Continue: next[token]},
			Items: []metav1.PartialObjectMetadata{{ObjectMeta: metav1.ObjectMeta{Name: "after-" + token}}}}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(page) // the client reports an incomplete response
	}))
	t.Cleanup(server.Close)
	return connected(t, &rest.Config{Host: server.URL}), asked
}

func TestAListIsReadPageByPageAndMetadataOnly(t *testing.T) {
	conn, asked := paged(t)
	var names []string
	err := EachMetadata(t.Context(), conn, []string{"/api/v1/persistentvolumeclaims"}, func(o *metav1.PartialObjectMetadata) error {
		names = append(names, o.Name)
		return nil
	})
	if diff := cmp.Diff([]string{"after-", "after-one", "after-two"}, names); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	want := []string{"500  " + acceptMetadataList, "500 one " + acceptMetadataList, "500 two " + acceptMetadataList}
	if diff := cmp.Diff(want, *asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
}

func TestAListEndsWithTheFirstError(t *testing.T) {
	conn, asked := paged(t)
	enough := errors.New("enough")
	err := EachMetadata(t.Context(), conn, []string{"/api/v1/persistentvolumeclaims"}, func(*metav1.PartialObjectMetadata) error { return enough })
	if !errors.Is(err, enough) || len(*asked) != 1 {
		t.Errorf("%v after %v", err, *asked)
	}
}

func TestAnEndlessListIsAnError(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(metav1.PartialObjectMetadataList{ListMeta: metav1.ListMeta{Continue: "more"}}) // the client reports an incomplete response
	}))
	defer server.Close()
	conn := connected(t, &rest.Config{Host: server.URL, QPS: -1})
	err := EachMetadata(t.Context(), conn, []string{"/api/v1/persistentvolumeclaims"}, func(*metav1.PartialObjectMetadata) error { return nil })
	if !errors.Is(err, ErrEndlessList) {
		t.Error(err)
	}
}
