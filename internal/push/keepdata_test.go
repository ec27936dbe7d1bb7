// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// owned creates an object whose ownerReferences name another object.
func (s *site) owned(text string, owner *unstructured.Unstructured) *unstructured.Unstructured {
	s.Helper()
	u := s.parse(text)
	u.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: owner.GetAPIVersion(), Kind: owner.GetKind(), Name: owner.GetName(), UID: owner.GetUID()}})
	if err := s.admin.Create(s.Context(), u); err != nil {
		s.Fatal(err)
	}
	return u
}

// crates installs a CRD of kind Crate on the member, in an API group that only this site uses.
func (s *site) crates() (group string) {
	s.Helper()
	group = s.namespace + ".example.com"
	definition := s.create(crd("crates", "Crate", group, "Namespaced", "v1"))
	s.Cleanup(func() { _ = s.admin.Delete(context.Background(), definition) })
	s.served(group+"/v1", "Crate")
	return group
}

// An operator creates claims for a custom resource and names the custom resource as their owner. The garbage collector
// deletes the claims with the custom resource.
func TestARemovalKeepsAnObjectThatOwnsAClaim(t *testing.T) {
	const pod = `{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i}]}}`
	claimOf := func(annotations string) func(*site, *unstructured.Unstructured) {
		return func(s *site, crate *unstructured.Unstructured) { s.owned(claimNamed(annotations), crate) }
	}
	for name, test := range map[string]struct {
		policy v1alpha1.DeletionPolicy
		keep   string
		makes  func(*site, *unstructured.Unstructured)
		kept   bool
	}{
		"it owns a claim": {makes: claimOf(""), kept: true},
		"it owns a claim through two other owners": {kept: true, makes: func(s *site, crate *unstructured.Unstructured) {
			between := s.owned(configMap("operator", "1"), crate)
			s.owned(claimNamed(""), s.owned(fmt.Sprintf("{apiVersion: %s, kind: Crate, metadata: {name: inner}}", crate.GetAPIVersion()), between))
		}},
		"it owns no claim": {makes: func(*site, *unstructured.Unstructured) {}},
		"another object owns the claim": {makes: func(s *site, _ *unstructured.Unstructured) {
			s.owned(claimNamed(""), s.create(configMap("other", "1")))
		}},
		"its Pod owns the claim":                            {makes: func(s *site, crate *unstructured.Unstructured) { s.owned(claimNamed(""), s.owned(pod, crate)) }},
		"the author releases the claim":                     {makes: claimOf(`, annotations: {federation.fairlead.dev/keep: "false"}`)},
		"the author releases the object":                    {keep: `, annotations: {federation.fairlead.dev/keep: "false"}`, makes: claimOf("")},
		"DeleteAll":                                         {policy: v1alpha1.DeleteAll, makes: claimOf("")},
		"DeleteAll, and the object is annotated to be kept": {policy: v1alpha1.DeleteAll, kept: true, makes: claimOf(""), keep: `, annotations: {federation.fairlead.dev/keep: "true"}`},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			group := s.crates()
			crate := fmt.Sprintf("{apiVersion: %s/v1, kind: Crate, metadata: {name: c%s}}", group, test.keep)
			s.mustDeliver(s.want(configMap("a", "1"), crate))
			there := s.get(group+"/v1", "Crate", "c")
			test.makes(s, there)

			w := s.leave()
			if test.policy != "" {
				w.OnDelete = test.policy
			}
			out := s.mustPush(w)
			if !out.Done {
				t.Fatalf("not done: %s %s", out.Reason, out.Message)
			}
			after := s.get(group+"/v1", "Crate", "c")
			if got := after != nil; got != test.kept {
				t.Fatalf("the Crate still exists: %v (%v)", got, out.Kept)
			}
			if s.configMap("a") != nil || s.delivery() != nil {
				t.Error("the ConfigMap or the Delivery still exists")
			}
			if test.kept && (after.GetLabels()[v1alpha1.LabelUID] != string(s.wrapper.UID) || len(out.Kept) != 1 ||
				out.Kept[0].Object != "Crate c" || test.keep == "" && !strings.Contains(out.Kept[0].Why, "PersistentVolumeClaim data")) {
				t.Errorf("labels %v, reported as kept: %q", after.GetLabels(), out.Kept)
			}
			if !test.kept && len(out.Kept) > 0 {
				t.Errorf("reported as kept: %q", out.Kept)
			}
		})
	}
}

func TestARemovalKeepsACustomResourceWithAFinalizer(t *testing.T) {
	for name, test := range map[string]struct {
		policy v1alpha1.DeletionPolicy
		keep   string
		held   bool
		kept   bool
	}{
		"with a finalizer": {held: true, kept: true},
		"without one":      {},
		"with a finalizer, and the author releases it": {held: true, keep: `, annotations: {federation.fairlead.dev/keep: "false"}`},
		"with a finalizer, under DeleteAll":            {held: true, policy: v1alpha1.DeleteAll},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			group := s.crates()
			s.mustDeliver(s.want(configMap("a", "1"), fmt.Sprintf("{apiVersion: %s/v1, kind: Crate, metadata: {name: c%s}}", group, test.keep)))
			hold := func(finalizers []string) {
				s.edit(group+"/v1", "Crate", "c", "operator", func(u *unstructured.Unstructured) { u.SetFinalizers(finalizers) })
			}
			if test.held {
				hold([]string{"operator.example.com/backup"})
				defer func() {
					if s.get(group+"/v1", "Crate", "c") != nil {
						hold(nil)
					}
				}()
			}
			w := s.leave()
			if test.policy != "" {
				w.OnDelete = test.policy
			}
			out := s.mustPush(w)
			after := s.get(group+"/v1", "Crate", "c")
			if deleted := after == nil || after.GetDeletionTimestamp() != nil; deleted == test.kept {
				t.Fatalf("deleted: %v (%+v)", deleted, out)
			}
			if test.kept && (!out.Done || len(out.Kept) != 1 || !strings.Contains(out.Kept[0].Why, "operator.example.com/backup")) {
				t.Errorf("done %v, reported as kept: %q", out.Done, out.Kept)
			}
		})
	}
}

// Kubernetes knows the finalizers of its own kinds, so a finalizer on such an object is no reason to keep it.
func TestARemovalDeletesABuiltInObjectWithAFinalizer(t *testing.T) {
	s := newSite(t)
	s.mustDeliver(s.want(configMap("a", "1")))
	s.edit("v1", "ConfigMap", "a", "admin", func(u *unstructured.Unstructured) { u.SetFinalizers([]string{"example.com/hold"}) })
	s.mustFail(s.leave(), v1alpha1.ReasonRemovalWaits, "example.com/hold")
	s.edit("v1", "ConfigMap", "a", "admin", func(u *unstructured.Unstructured) { u.SetFinalizers(nil) })
	s.eventually(s.leave())
}

// The manager cannot read one of a claim's owners, so it does not know which objects own that owner.
func TestNothingIsDeletedWhileTheOwnersOfClaimsAreUnknown(t *testing.T) {
	forbidden := func(name, resource, group string) func(*http.Request) *http.Response {
		return func(req *http.Request) *http.Response {
			if !strings.HasPrefix(nameOf(req), name) {
				return nil
			}
			return refusal(req, apierrors.NewForbidden(schema.GroupResource{Group: group, Resource: resource}, "",
				fmt.Errorf("User \"u\" cannot list resource %q in API group %q", resource, group)))
		}
	}
	for name, test := range map[string]struct {
		answer func(group string) func(*http.Request) *http.Response
		reason string
		words  []string
	}{
		"the host may not list claims": {
			answer: func(string) func(*http.Request) *http.Response {
				return forbidden("GET ", "persistentvolumeclaims", "")
			},
			reason: v1alpha1.ReasonNotGranted, words: []string{"ConfigMap a", "resources: [persistentvolumeclaims]", "verbs: [list]", `keep: "false"`},
		},
		"the host may not read an owner": {
			answer: func(group string) func(*http.Request) *http.Response {
				return forbidden("GET crates/", "crates", group)
			},
			reason: v1alpha1.ReasonNotGranted, words: []string{"ConfigMap a", "resources: [crates]", "verbs: [get]", "the owners of Crate theirs, which owns claim data, are unknown"},
		},
		"the server answers the list of claims with an error": {
			answer: func(string) func(*http.Request) *http.Response {
				return func(req *http.Request) *http.Response {
					return refusal(req, apierrors.NewInternalError(errors.New("etcd")))
				}
			},
			reason: v1alpha1.ReasonPushError, words: []string{"ConfigMap a", "etcd"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			group := s.crates()
			s.mustDeliver(s.want(configMap("a", "1"), fmt.Sprintf(
				`{apiVersion: v1, kind: ConfigMap, metadata: {name: z, annotations: {%s: "false"}}}`, v1alpha1.AnnotationKeep)))
			s.owned(claimNamed(""), s.create(fmt.Sprintf("{apiVersion: %s/v1, kind: Crate, metadata: {name: theirs}}", group)))
			answer := test.answer(group)
			s.wire.answer = func(req *http.Request) *http.Response {
				if strings.HasSuffix(req.URL.Path, "/persistentvolumeclaims") || strings.HasPrefix(nameOf(req), "GET crates/") {
					return answer(req)
				}
				return nil
			}
			out := s.mustFail(s.leave(), test.reason, test.words...)
			if s.configMap("a") == nil || out.Retry == 0 {
				t.Fatalf("the object was deleted, or the pass is not tried again (retry %s)", out.Retry)
			}
			if s.configMap("z") != nil {
				t.Error("the object that the author released still exists")
			}
			if test.reason == v1alpha1.ReasonNotGranted && strings.Index(out.Message, "aggregate-to-host") > 220 {
				t.Errorf("a status line cuts the remedy off: %s", out.Message)
			}
			s.wire.answer = nil
			s.eventually(s.leave())
		})
	}
}

func TestAPassListsTheClaimsOnceAndOnlyIfItDeletesObjects(t *testing.T) {
	list := func(s *site) (n int) {
		for _, r := range s.wire.all() {
			if strings.HasSuffix(r, "/persistentvolumeclaims") {
				n++
			}
		}
		return n
	}
	for name, test := range map[string]struct {
		objects []string
		policy  v1alpha1.DeletionPolicy
		want    int
	}{
		"three objects to delete": {[]string{configMap("a", "1"), configMap("b", "1"), configMap("c", "1")}, v1alpha1.KeepData, 1},
		"all objects are kept":    {[]string{claimNamed("")}, v1alpha1.KeepData, 0},
		"DeleteAll":               {[]string{configMap("a", "1")}, v1alpha1.DeleteAll, 0},
		"KeepAll":                 {[]string{configMap("a", "1")}, v1alpha1.KeepAll, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			s.mustDeliver(s.want(test.objects...))
			w := s.leave()
			w.OnDelete = test.policy
			s.wire.begin(nil)
			s.mustDeliver(w)
			if got := list(s); got != test.want {
				t.Errorf("%d lists: %v", got, s.wire.all())
			}
		})
	}
}

func TestAWrapperMadeAgainTakesItsClaimsBack(t *testing.T) {
	s := newSite(t)
	s.mustDeliver(s.want(configMap("a", "1"), claimNamed("")))
	before := s.get("v1", "PersistentVolumeClaim", "data").GetUID()
	out := s.mustPush(s.leave())
	if !out.Done || !slices.ContainsFunc(out.Kept, func(k Kept) bool {
		return strings.HasPrefix(k.String(), "PersistentVolumeClaim data: of a kind that holds data")
	}) {
		t.Fatalf("done %v, reported as kept: %q", out.Done, out.Kept)
	}
	s.wrapper.UID += types.UID("-anew")
	s.mustDeliver(s.want(configMap("a", "1"), claimNamed("")))
	after := s.get("v1", "PersistentVolumeClaim", "data")
	if after.GetUID() != before || after.GetLabels()[v1alpha1.LabelUID] != string(s.wrapper.UID) {
		t.Errorf("uid %s, was %s; labels %v", after.GetUID(), before, after.GetLabels())
	}
	if diff := cmp.Diff([]string{"ConfigMap a Applied", "PersistentVolumeClaim data Applied"}, s.inventory()); diff != "" {
		t.Errorf("inventory (-want +got):\n%s", diff)
	}
	for _, e := range s.delivery().Spec.Inventory {
		if e.Adopted != "" {
			t.Errorf("%s counts as adopted, and the manager would not remove it", e.Name)
		}
	}
}
