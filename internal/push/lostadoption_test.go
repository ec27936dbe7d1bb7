// SPDX-License-Identifier: Apache-2.0

package push

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/marks"
)

// loseAdoption removes the field adopted from the Delivery that the member stores. It removes the field from the
// member's CRD, writes the status so that the API server stores the Delivery without the field, and puts the field back
// into the CRD.
func (s *site) loseAdoption() {
	s.Helper()
	mend := withoutField(s.T, inventoryField("adopted")...)
	d := s.delivery()
	d.Status.ObservedRendering = "sha256:seen"
	if err := s.admin.Status().Update(s.Context(), d); err != nil {
		s.Fatal(err)
	}
	mend()
	for _, e := range s.delivery().Spec.Inventory {
		if e.Adopted != "" {
			s.Fatalf("the Delivery still has the adoption of %s", e.Name)
		}
	}
}

// adopted makes the wrapper adopt ConfigMap a of another client. It returns the ConfigMap as it was before.
func (s *site) adopted() *corev1.ConfigMap {
	s.Helper()
	s.openNamespace()
	s.create(`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {note: theirs}}, data: {value: "1"}}`)
	before := s.configMap("a")
	s.mustDeliver(s.adopting())
	if got := s.configMap("a").Annotations[v1alpha1.AnnotationAdopted]; got != "configmaps/"+s.namespace+"/a" {
		s.Errorf("the object lacks AnnotationAdopted: %q", got)
	}
	return before
}

func (s *site) leaveWith(policy v1alpha1.DeletionPolicy) *Desired {
	w := s.leave()
	w.OnDelete = policy
	return w
}

func (s *site) mustBeReleased(before *corev1.ConfigMap) {
	s.Helper()
	after := s.configMap("a")
	if after == nil || after.UID != before.UID {
		s.Fatal("the object was deleted")
	}
	want := []any{before.Labels, before.Annotations, before.Data}
	if diff := cmp.Diff(want, []any{after.Labels, after.Annotations, after.Data}); diff != "" {
		s.Errorf("the object (-before +after):\n%s", diff)
	}
	for i := range after.ManagedFields {
		if e := &after.ManagedFields[i]; e.Manager != "admin" {
			s.Errorf("%s still owns %s", e.Manager, e.FieldsV1)
		}
	}
}

// A member's API server may drop the field adopted from the Delivery. The host must not delete the adopted object even
// then, because AnnotationAdopted on the object also records the adoption.
func TestTheObjectRemembersAnAdoptionThatTheDeliveryLost(t *testing.T) {
	for name, leaves := range map[string]func(*site){
		"the wrapper leaves": func(s *site) { s.mustDeliver(s.leave()) },
		"an update drops the object": func(s *site) {
			s.mustDeliver(s.want(configMap("b", "1")))
		},
		"the object changes, and the wrapper leaves": func(s *site) {
			s.mustDeliver(s.want(`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {note: theirs}}, data: {value: "1"}}`))
			if got := s.delivery().Spec.Inventory[0].Adopted; got != v1alpha1.AdoptedYes {
				s.Errorf("the Delivery does not record the adoption again: %q", got)
			}
			s.mustDeliver(s.leave())
		},
		"the wrapper is made again, and leaves": func(s *site) {
			s.wrapper.UID += "-again"
			s.mustDeliver(s.adopting())
			if got := s.delivery().Spec.Inventory[0].Adopted; got != v1alpha1.AdoptedYes {
				s.Errorf("the Delivery does not record the adoption again: %q", got)
			}
			s.mustDeliver(s.leave())
		},
		"the wrapper is made again, and leaves before it has pushed": func(s *site) {
			s.wrapper.UID += "-again"
			s.interrupt(s.adopting(), "PATCH configmaps/a")
			s.connect(config)
			s.mustDeliver(s.leave())
		},
		"the wrapper leaves under KeepAll, and a later one leaves under KeepData": func(s *site) {
			s.mustDeliver(s.leaveWith(v1alpha1.KeepAll))
			if s.configMap("a") == nil {
				return
			}
			s.mustDeliver(s.want(configMap("a", "1")))
			s.mustDeliver(s.leave())
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			before := s.adopted()
			s.loseAdoption()
			leaves(s)
			s.mustBeReleased(before)
		})
	}
}

func TestDeleteAllDeletesAnAdoptedObjectEvenIfTheDeliveryLostTheAdoption(t *testing.T) {
	for name, lose := range map[string]func(*site){"the Delivery and the object": func(*site) {}, "the object alone": (*site).loseAdoption} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			s.adopted()
			lose(s)
			s.mustDeliver(s.leaveWith(v1alpha1.DeleteAll))
			if s.configMap("a") != nil {
				t.Error("the object still exists")
			}
		})
	}
}

func TestAReleaseRemovesTheMarkOfTheAdoption(t *testing.T) {
	for _, policy := range []v1alpha1.DeletionPolicy{v1alpha1.KeepData, v1alpha1.KeepAll} {
		t.Run(string(policy), func(t *testing.T) {
			s := newSite(t)
			before := s.adopted()
			s.mustDeliver(s.leaveWith(policy))
			s.mustBeReleased(before)
		})
	}
}

// The manager ends after it has set AnnotationAdopted on the object, and before it applies the object.
func TestAnAdoptionThatWasInterruptedBeforeTheApply(t *testing.T) {
	for name, then := range map[string]func(*site){
		"the Delivery loses the adoption, and the wrapper leaves": func(s *site) {
			s.loseAdoption()
			s.mustDeliver(s.leave())
		},
		"the Delivery loses the adoption, a pass finishes it, and the wrapper leaves": func(s *site) {
			s.loseAdoption()
			s.mustDeliver(s.adopting())
			s.mustDeliver(s.leave())
		},
		"the author no longer allows the adoption": func(s *site) {
			s.mustFail(s.want(configMap("a", "1")), v1alpha1.ReasonObjectExists)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			s.openNamespace()
			s.create(`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {note: theirs}}, data: {value: "1"}}`)
			before := s.configMap("a")
			s.wire.begin(func(_ int, req *http.Request) fate {
				if nameOf(req) == "PATCH configmaps/a" && s.configMap("a").Annotations[v1alpha1.AnnotationAdopted] != "" {
					return lost
				}
				return through
			})
			if _, err := s.push(s.adopting()); err == nil {
				t.Fatal("the pass was not interrupted")
			}
			if a := s.configMap("a"); a.Annotations[v1alpha1.AnnotationAdopted] == "" || a.Labels[v1alpha1.LabelUID] != "" {
				t.Fatalf("the pass was interrupted at another point: %v %v", a.Labels, a.Annotations)
			}
			s.connect(config)
			then(s)
			s.mustBeReleased(before)
		})
	}
}

// Another client removes AnnotationAdopted. The host's apply does not own this annotation, so the pass has to set it
// again.
func TestTheMarkOfAnAdoptionStaysWhileTheObjectIsAdopted(t *testing.T) {
	s := newSite(t)
	s.adopted()
	s.edit("v1", "ConfigMap", "a", "admin", func(u *unstructured.Unstructured) {
		annotations := u.GetAnnotations()
		delete(annotations, v1alpha1.AnnotationAdopted)
		u.SetAnnotations(annotations)
	})
	for _, value := range []string{"2", "3"} {
		s.mustDeliver(s.want(configMap("a", value), configMap("b", "1")))
		if got := s.configMap("a"); !marks.IsAdopted(got, "configmaps/"+s.namespace+"/a") || got.Data["value"] != value {
			t.Errorf("after an update to %s: %v %v", value, got.Annotations, got.Data)
		}
	}
}

// AnnotationAdopted names its object. A client that copies all annotations of another object also copies that mark.
func TestAnAdoptionMarkCopiedFromAnotherObjectDoesNotCount(t *testing.T) {
	s := newSite(t)
	s.mustDeliver(s.want(configMap("a", "1")))
	patch := fmt.Sprintf(`{"metadata": {"annotations": {%q: "configmaps/%s/other"}}}`, v1alpha1.AnnotationAdopted, s.namespace)
	if err := s.admin.Patch(t.Context(), s.configMap("a"), client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		t.Fatal(err)
	}
	s.mustDeliver(s.leave())
	if s.configMap("a") != nil {
		t.Error("the object still exists")
	}
}
