// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/revision"
)

const (
	good = `
apiVersion: federation.fairlead.dev/v1alpha1
kind: Federated
metadata: {name: web, namespace: shop%s}
spec:
  placement: {clusters: {names: [east]}}
  objects: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}]
`
	elsewhere = `
apiVersion: federation.fairlead.dev/v1alpha1
kind: Federated
metadata: {name: web, namespace: shop%s}
spec:
  placement: {clusters: {names: [east]}}
  objects: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: kube-system}}]
`
	stray = `
apiVersion: federation.fairlead.dev/v1alpha1
kind: Federated
metadata: {name: web, namespace: shop%s}
spec:
  placement: {clusters: {names: [east]}}
  objects: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}]
  overrides: [{target: {kind: Secret}, patch: [{op: add, path: /data, value: {}}]}]
`
	deleting = `, deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: [federation.fairlead.dev/members]`
)

// history returns the key with which the tests sign the annotation of an author.
func history(t testing.TB) *revision.HistoryKey {
	t.Helper()
	key, err := revision.NewHistoryKey(make([]byte, revision.HistoryKeyBytes))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func request(t testing.TB, operation admissionv1.Operation, kind, object, old string) *question {
	t.Helper()
	raw := func(text string) []byte {
		if text == "" {
			return nil
		}
		data, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	return &question{
		Operation: operation, Namespace: "shop", Object: raw(object), OldObject: raw(old),
		Kind: metav1.GroupVersionKind{Group: v1alpha1.Group, Version: "v1alpha1", Kind: kind},
	}
}

// costly is a wrapper whose patches move an item through a long list, again and again.
var costly = strings.Replace(good, "metadata: {name: a}", "metadata: {name: a}, data: ["+strings.Repeat("1, ", 300_000)+"1]", 1) +
	"  overrides: [" + strings.Repeat("{target: {kind: ConfigMap}, patch: ["+
	strings.Repeat("{op: move, from: /data/300000, path: /data/0}, ", 60)+"]}, ", 8) + "]\n"

func of(text, meta string) string { return strings.Replace(text, "%s", meta, 1) }

func TestValidate(t *testing.T) {
	for name, test := range map[string]struct {
		operation   admissionv1.Operation
		object, old string
		refused     string // words of the refusal; "" means accepted
	}{
		"a good wrapper":                     {admissionv1.Create, of(good, ""), "", ""},
		"an object of another namespace":     {admissionv1.Create, of(elsewhere, ""), "", "spec.objects[0].metadata.namespace"},
		"an override that matches no object": {admissionv1.Create, of(stray, ""), "", "spec.overrides[0].target"},
		"overrides that take too much work":  {admissionv1.Create, of(costly, ""), "", "spec.overrides[2].patch["},
		"a good wrapper that is made bad": {admissionv1.Update, of(elsewhere, ""), of(good, ""),
			"spec.objects[0].metadata.namespace"},
		"a bad wrapper that is corrected":               {admissionv1.Update, of(good, ""), of(elsewhere, ""), ""},
		"a bad wrapper whose spec is unchanged":         {admissionv1.Update, of(elsewhere, ", labels: {a: b}"), of(elsewhere, ""), ""},
		"a bad wrapper that changes to another bad one": {admissionv1.Update, of(stray, ""), of(elsewhere, ""), "spec.overrides[0].target"},
		"a bad wrapper that is being deleted":           {admissionv1.Update, of(elsewhere, deleting), of(good, deleting), ""},
		"a bad wrapper that loses its finalizer": {admissionv1.Update, of(elsewhere, `, deletionTimestamp: "2026-01-01T00:00:00Z"`),
			of(elsewhere, deleting), ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := nobody.validate(t.Context(), request(t, test.operation, "Federated", test.object, test.old))
			if got.Allowed != (test.refused == "") {
				t.Fatalf("allowed: %v (%+v)", got.Allowed, got.Result)
			}
			if !got.Allowed && (!strings.Contains(got.Result.Message, test.refused) || got.Result.Code != http.StatusUnprocessableEntity) {
				t.Errorf("it says %d: %s", got.Result.Code, got.Result.Message)
			}
		})
	}
}

// These tests give the webhook no key, so it attests no author and writes only the finalizer.
func TestMutate(t *testing.T) {
	for name, test := range map[string]struct {
		operation admissionv1.Operation
		object    string
		want      []string // the finalizers; nil means that nothing is written
	}{
		"a new wrapper gets the finalizer": {admissionv1.Create, of(good, ""), []string{v1alpha1.Finalizer}},
		"a new wrapper keeps its other finalizers": {admissionv1.Create, of(good, ", finalizers: [example.com/mine]"),
			[]string{"example.com/mine", v1alpha1.Finalizer}},
		"a wrapper that has the finalizer stays unchanged": {admissionv1.Create, of(good, ", finalizers: [federation.fairlead.dev/members]"), nil},
		"a spec of another form is left to the schema": {admissionv1.Create,
			"{apiVersion: federation.fairlead.dev/v1alpha1, kind: Federated, metadata: {name: a}, spec: {placement: {clusters: [east]}}}", []string{v1alpha1.Finalizer}},
		"an updated wrapper stays unchanged":              {admissionv1.Update, of(good, ""), nil},
		"a wrapper that is being deleted stays unchanged": {admissionv1.Update, of(good, `, deletionTimestamp: "2026-01-01T00:00:00Z"`), nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := mutation{}.mutate(t.Context(), request(t, test.operation, "Federated", test.object, ""))
			if !got.Allowed {
				t.Fatalf("refused: %+v", got.Result)
			}
			if test.want == nil {
				if len(got.Patch) > 0 {
					t.Errorf("it writes %s", got.Patch)
				}
				return
			}
			var patch []struct {
				Op, Path string
				Value    []string
			}
			if err := json.Unmarshal(got.Patch, &patch); err != nil || len(patch) != 1 {
				t.Fatalf("the patch is %s (%v)", got.Patch, err)
			}
			if diff := cmp.Diff(test.want, patch[0].Value); diff != "" || patch[0].Op != "add" || patch[0].Path != "/metadata/finalizers" {
				t.Errorf("%s %s (-want +got):\n%s", patch[0].Op, patch[0].Path, diff)
			}
		})
	}
}

func TestAKindThatIsNoWrapperIsAnError(t *testing.T) {
	req := request(t, admissionv1.Create, "MemberCluster", of(good, ""), "")
	for name, got := range map[string]*admissionv1.AdmissionResponse{"mutate": mutation{}.mutate(t.Context(), req), "validate": nobody.validate(t.Context(), req)} {
		if got.Allowed || got.Result.Code != http.StatusBadRequest || !strings.Contains(got.Result.Message, "MemberCluster") {
			t.Errorf("%s: %+v", name, got.Result)
		}
	}
}

// BenchmarkAnUpdateIsValidated measures one request: the API server's request after a change of one field of a wrapper
// with a ConfigMap of 1 KiB.
func BenchmarkAnUpdateIsValidated(b *testing.B) {
	fields := strings.Builder{}
	for i := range 150 {
		_, _ = fmt.Fprintf(&fields, `"f:field-%d": {}, `, i)
	}
	object := func(value string) string {
		return strings.Replace(of(good, `, managedFields: [{manager: author, fieldsV1: {`+fields.String()+`}}]`),
			"metadata: {name: a}", "metadata: {name: a}, data: {a: '"+value+"', payload: "+strings.Repeat("x", 1024)+"}", 1)
	}
	q := request(b, admissionv1.Update, "Federated", object("1"), object("2"))
	body, err := json.Marshal(review{Request: q})
	if err != nil {
		b.Fatal(err)
	}
	handler := answering(newLimit(), nobody.validate)
	b.ReportAllocs()
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, httptest.NewRequest(http.MethodPost, PathValidate, bytes.NewReader(body)))
		if answer.Code != http.StatusOK {
			b.Fatal(answer.Body)
		}
	}
}
