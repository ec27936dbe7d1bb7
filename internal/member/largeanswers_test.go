// SPDX-License-Identifier: Apache-2.0

package member

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/internal/boundedread"
)

// says starts a server that answers every request with this body, and returns a connection to it.
func says(t *testing.T, code int, kind, body string) *Conn {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(code)
		_, _ = w.Write([]byte(body)) // the client does not read all bytes, so the write fails
	}))
	t.Cleanup(server.Close)
	return (&endless{Server: server}).connect(t)
}

// The list has 20 million objects of three bytes each. Decoded, they would take 9 GiB of memory.
func TestAListOfVeryManyTinyObjectsIsRefused(t *testing.T) {
	conn := says(t, http.StatusOK, "application/json", `{"items":[`+strings.Repeat("{},", 20<<20)+`{}]}`)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := EachMetadata(t.Context(), conn, []string{"/api/v1/namespaces"}, nil)
	if tooLarge := (*boundedread.TooLargeError)(nil); !errors.As(err, &tooLarge) || !strings.Contains(err.Error(), "did not read the answer") {
		t.Error(err)
	}
	if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > 64<<20 {
		t.Errorf("%d MiB were taken for it", (after.TotalAlloc-before.TotalAlloc)>>20)
	}
	if bytes, weight := conn.guard.answers.Used(); bytes != 0 || weight != 0 {
		t.Errorf("%d bytes that weigh %d still count as being read", bytes, weight)
	}
}

func TestAnErrorResponseIsBounded(t *testing.T) {
	conn := says(t, http.StatusForbidden, "application/json", `{"kind":"Status","message":"`+strings.Repeat("no ", 1<<20)+`"}`)
	if _, err := Do(t.Context(), conn.REST().Get().AbsPath("/version"), false); err == nil || len(err.Error()) > boundedread.MaxRefusal {
		t.Errorf("%.100s", err)
	}
}

func TestAnAnswerThatIsNotJSONIsRefused(t *testing.T) {
	conn := says(t, http.StatusOK, "application/vnd.kubernetes.protobuf", "k8s\x00")
	_, err := Do(t.Context(), conn.REST().Get().AbsPath("/version"), false)
	if err == nil || !strings.Contains(err.Error(), "the manager asked for JSON") {
		t.Error(err)
	}
}

// The manager refuses an answer in protobuf, and API servers answer in protobuf if a client asks for it. So no client
// of a Conn may ask for protobuf.
func TestEveryClientAsksForJSON(t *testing.T) {
	server := newAPIServer(t)
	var asked []string
	server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		asked = append(asked, req.Header.Get("Accept")+req.Header.Get("Content-Type"))
		server.ServeHTTP(w, req)
	})
	conn := connected(t, server.config("t"))
	c := conn.GetClient()
	names, err := metadata.NewForConfigAndClient(metadata.ConfigFor(conn.GetConfig()), conn.GetHTTPClient())
	if err != nil {
		t.Fatal(err)
	}
	settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "a"}}
	_, listed := names.Resource(corev1.SchemeGroupVersion.WithResource("configmaps")).List(t.Context(), metav1.ListOptions{})
	for _, err := range []error{c.Get(t.Context(), client.ObjectKeyFromObject(settings), settings), c.Create(t.Context(), settings), listed} {
		if !apierrors.IsNotFound(err) { // the server answers every request with 404
			t.Error(err)
		}
	}
	for _, kinds := range asked {
		if strings.Contains(kinds, "protobuf") {
			t.Error(kinds)
		}
	}
	if len(asked) < 3 || !strings.Contains(asked[0], "as=PartialObjectMetadataList") {
		t.Errorf("asked were %q", asked)
	}
}
