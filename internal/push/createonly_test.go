// SPDX-License-Identifier: Apache-2.0

package push

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/marks"
	"github.com/fairlead-dev/fairlead/internal/member"
	"github.com/fairlead-dev/fairlead/internal/push/memberapi"
)

// createOnlyKinds returns one object of each of many kinds. For most of them the API server has code of its own for
// creations and updates.
func createOnlyKinds(unique, group string) map[string]string {
	template := `{metadata: {labels: {app: a}}, spec: {containers: [{name: c, image: i}]}}`
	workload := `spec: {selector: {matchLabels: {app: a}}, template: ` + template
	return map[string]string{
		"ConfigMap":       configMap("a", "1"),
		"Secret":          `{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {a: b}}`,
		"custom resource": fmt.Sprintf("{apiVersion: %s/v1, kind: Crate, metadata: {name: a}, spec: {size: 1}}", group),
		"Service":         `{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {ports: [{port: 80}]}}`,
		"ServiceAccount":  `{apiVersion: v1, kind: ServiceAccount, metadata: {name: a}}`,
		"Deployment":      `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, ` + workload + `}}`,
		"StatefulSet":     `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: a}, ` + workload + `, serviceName: a}}`,
		"Job": `{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {suspend: true, template: {spec: {restartPolicy: Never, ` +
			`containers: [{name: c, image: i}]}}}}`,
		"PersistentVolumeClaim": `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a}, spec: {accessModes: [ReadWriteOnce], ` +
			`resources: {requests: {storage: 1Gi}}}}`,
		"Role":        `{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: a}, rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]}`,
		"RoleBinding": `{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: a}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: a}}`,
		"HorizontalPodAutoscaler": `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: a}, spec: {maxReplicas: 3, ` +
			`scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: a}}}`,
		"Ingress":                  `{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: a}, spec: {defaultBackend: {service: {name: a, port: {number: 80}}}}}`,
		"Namespace":                fmt.Sprintf(`{apiVersion: v1, kind: Namespace, metadata: {name: %s-made}}`, unique),
		"ClusterRole":              fmt.Sprintf(`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: %s}}`, unique),
		"StorageClass":             fmt.Sprintf(`{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: %s}, provisioner: example.com/disk}`, unique),
		"CustomResourceDefinition": crd("boxes", "Box", unique+".example.org", "Namespaced", "v1"),
	}
}

// A pass may leave out the look at an object because API servers answer a create-only apply like this: they create an
// absent object, and change no existing one. They do not even change an object of this wrapper.
func TestACreateOnlyApplyCreatesAnAbsentObjectAndChangesNoExistingOne(t *testing.T) {
	s := newSite(t)
	s.openNamespace()
	group := s.namespace + ".example.com"
	definition := s.create(crd("crates", "Crate", group, "Namespaced", "v1"))
	t.Cleanup(func() { _ = s.admin.Delete(context.Background(), definition) })
	s.served(group+"/v1", "Crate")
	for name, text := range createOnlyKinds(s.namespace, group) {
		t.Run(name, func(t *testing.T) {
			obj := s.parse(text)
			t.Cleanup(func() { _ = s.admin.Delete(context.Background(), s.parse(text)) })
			mapping, err := s.conn.Mapping(t.Context(), obj.GroupVersionKind().GroupKind(), obj.GroupVersionKind().Version)
			if err != nil {
				t.Fatal(err)
			}
			obj.SetResourceVersion("1")
			send := func(manager string) (member.Answer, error) {
				body, err := obj.MarshalJSON()
				if err != nil {
					t.Fatal(err)
				}
				return member.Do(t.Context(), s.conn.REST().Patch(types.ApplyPatchType).
					AbsPath(member.Path(mapping.Resource, obj.GetNamespace(), obj.GetName())...).
					Param("fieldManager", manager).Param("force", "false").Body(body), false)
			}
			// Controllers of the member may write to the object meanwhile. They do not use server-side apply, so compare only
			// what applies have written.
			applied := func() []any {
				is := s.get(obj.GetAPIVersion(), obj.GetKind(), obj.GetName())
				all := []any{is.GetUID(), is.GetLabels()}
				for _, e := range is.GetManagedFields() {
					if e.Operation == metav1.ManagedFieldsOperationApply {
						all = append(all, e.Manager, e.FieldsV1.String())
					}
				}
				return all
			}
			if made, err := send("one"); err != nil || made.Status != http.StatusCreated {
				t.Fatalf("the apply of the absent object: %d %v", made.Status, err)
			}
			before := applied()
			obj.SetLabels(map[string]string{"more": "yes"})
			for _, manager := range []string{"one", "another"} {
				if answer, err := send(manager); !apierrors.IsConflict(err) {
					t.Errorf("%s, the apply of the existing object: %d %v", manager, answer.Status, err)
				}
			}
			if diff := cmp.Diff(before, applied()); diff != "" {
				t.Errorf("the existing object was changed (-before +after):\n%s", diff)
			}
		})
	}
}

// requestsOf returns the requests about an object so far, in their order.
func (s *site) requestsOf(object string) (all []string) {
	for _, r := range s.wire.all() {
		if strings.HasSuffix(r, " "+object) {
			all = append(all, r)
		}
	}
	return all
}

func TestAPassReadsAnUnlistedObjectIfItsCreateOnlyApplyIsRefused(t *testing.T) {
	denied := func(req *http.Request) *http.Response {
		return refusal(req, apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "a",
			errors.New(`admission webhook "guard.example.com" denied the request: not today`)))
	}
	strange := func(req *http.Request) *http.Response {
		return refusal(req, apierrors.NewBadRequest("resourceVersion should not be set on objects to be created"))
	}
	for name, test := range map[string]struct {
		there    func(*site)
		answer   func(*http.Request) *http.Response // answers the first apply; the member answers if it is nil or returns nil
		reason   string                             // "" if the push is done
		words    string
		requests []string
	}{
		"the object is absent": {requests: []string{"PATCH configmaps/a"}},
		"another client's object exists": {
			there:  func(s *site) { s.create(configMap("a", "theirs")) },
			reason: v1alpha1.ReasonObjectExists, words: "managed by admin",
			requests: []string{"PATCH configmaps/a", "GET configmaps/a"},
		},
		"another client's object exists, and a webhook refuses its change": {
			there: func(s *site) { s.create(configMap("a", "theirs")) }, answer: denied,
			reason: v1alpha1.ReasonObjectExists, words: "managed by admin",
			requests: []string{"PATCH configmaps/a", "GET configmaps/a"},
		},
		"the object is absent, and a webhook refuses it": {
			answer: denied, reason: v1alpha1.ReasonRefused, words: "not today",
			requests: []string{"PATCH configmaps/a", "GET configmaps/a"},
		},
		"the object is absent, and its server refuses a resourceVersion": {
			answer: strange, requests: []string{"PATCH configmaps/a", "GET configmaps/a", "PATCH configmaps/a"},
		},
		"the object is being deleted": {
			there: func(s *site) {
				s.create(`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, finalizers: [example.com/hold]}}`)
				s.delete("v1", "ConfigMap", "a")
			},
			reason: v1alpha1.ReasonRemovalWaits, words: "example.com/hold",
			requests: []string{"PATCH configmaps/a", "GET configmaps/a"},
		},
		"this wrapper made the object, and the Delivery was lost": {
			there: func(s *site) {
				s.mustDeliver(s.want(configMap("a", "1")))
				if err := s.admin.Delete(s.Context(), s.delivery()); err != nil {
					s.Fatal(err)
				}
			},
			requests: []string{"PATCH configmaps/a", "GET configmaps/a", "PATCH configmaps/a"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			s.openNamespace()
			uid := types.UID("")
			if test.there != nil {
				test.there(s)
				uid = s.configMap("a").UID
			}
			answered := test.answer == nil
			s.wire.answer = func(req *http.Request) *http.Response {
				if answered || nameOf(req) != "PATCH configmaps/a" {
					return nil
				}
				answered = true
				return test.answer(req)
			}
			s.wire.begin(nil)
			if w := s.want(configMap("a", "1")); test.reason == "" {
				s.mustDeliver(w)
			} else {
				s.mustFail(w, test.reason, test.words)
			}
			if diff := cmp.Diff(test.requests, s.requestsOf("configmaps/a")); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
			if a := s.configMap("a"); uid != "" && a.UID != uid {
				t.Errorf("the object was deleted and made again: uid %s, was %s", a.UID, uid)
			}
			if entry := s.delivery().Spec.Inventory[0]; test.reason == "" && (entry.State != v1alpha1.EntryApplied || entry.UID != s.configMap("a").UID) {
				t.Errorf("recorded: %+v", entry)
			}
		})
	}
}

// A server that ignores the resourceVersion of a create-only apply merges the apply into another client's object. The
// pass has to undo that, and later passes must look at each object before they apply it.
func TestAPassReadsBeforeEachApplyAfterTheServerIgnoredAPrecondition(t *testing.T) {
	s := newSite(t)
	s.openNamespace()
	theirs := s.create(`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {note: theirs}}, data: {own: "theirs"}}`)
	s.wire.answer = func(req *http.Request) *http.Response {
		if req.Method != http.MethodPatch {
			return nil
		}
		body, err := io.ReadAll(req.Body)
		if err != nil {
			t.Error(err)
		}
		body = bytes.Replace(body, []byte(`"resourceVersion":"1"`), []byte(`"resourceVersion":""`), 1)
		req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		return nil
	}
	native := memberapi.NewNativeKinds()
	push := func(w *Desired) string {
		t.Helper()
		s.wire.begin(nil)
		out, err := (&pass{conn: s.conn, want: w, native: native}).run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return out.Reason
	}
	if reason := push(s.want(configMap("a", "1"))); reason != v1alpha1.ReasonObjectExists {
		t.Errorf("the pass ends with %q", reason)
	}
	a := s.configMap("a")
	if diff := cmp.Diff(map[string]string{"own": "theirs"}, a.Data); diff != "" || a.UID != theirs.GetUID() || marks.FieldsDigest(a.ManagedFields) != "" {
		t.Errorf("the other client's object is not restored (-want +got):\n%s%v", diff, a.ManagedFields)
	}
	if reason := push(s.want(configMap("a", "1"), configMap("b", "1"))); reason != v1alpha1.ReasonObjectExists {
		t.Errorf("the pass ends with %q", reason)
	}
	if diff := cmp.Diff([]string{"GET configmaps/b", "PATCH configmaps/b"}, s.requestsOf("configmaps/b")); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// A kind that is neither built in nor defined by a CustomResourceDefinition may be served by an aggregated API, whose
// server may ignore the resourceVersion of a create-only apply.
func TestOnlyKindsOfTheAPIServerItselfAreCreatedWithoutARead(t *testing.T) {
	s := newSite(t)
	group := s.crates()
	native := memberapi.NewNativeKinds()
	crate := func(name string) []string {
		t.Helper()
		s.wire.begin(nil)
		w := s.want(fmt.Sprintf("{apiVersion: %s/v1, kind: Crate, metadata: {name: %s}}", group, name))
		w.Wrapper.Name, w.Wrapper.UID = name, types.UID(s.namespace+name)
		out, err := (&pass{conn: s.conn, want: w, native: native}).run(t.Context())
		if err != nil || !out.Done {
			t.Fatal(out, err)
		}
		var all []string
		for _, r := range s.wire.all() {
			if strings.Contains(r, "crates") {
				all = append(all, r)
			}
		}
		return all
	}
	definition := "GET customresourcedefinitions/crates." + group
	if diff := cmp.Diff([]string{definition, "PATCH crates/one"}, crate("one")); diff != "" {
		t.Errorf("the first Crate (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"PATCH crates/two"}, crate("two")); diff != "" {
		t.Errorf("the second Crate (-want +got):\n%s", diff)
	}
	native = memberapi.NewNativeKinds()
	s.wire.answer = func(req *http.Request) *http.Response {
		if nameOf(req) != definition {
			return nil
		}
		return refusal(req, apierrors.NewNotFound(schema.GroupResource{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}, "crates."+group))
	}
	if diff := cmp.Diff([]string{definition, "GET crates/three", "PATCH crates/three"}, crate("three")); diff != "" {
		t.Errorf("behind an APIService (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"GET crates/four", "PATCH crates/four"}, crate("four")); diff != "" {
		t.Errorf("behind an APIService, the second Crate (-want +got):\n%s", diff)
	}
}
