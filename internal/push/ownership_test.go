// SPDX-License-Identifier: Apache-2.0

package push

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/marks"
	"github.com/fairlead-dev/fairlead/internal/member"
	"github.com/fairlead-dev/fairlead/internal/push/memberapi"
)

func TestAPassMeetsAnExistingObject(t *testing.T) {
	for name, test := range map[string]struct {
		there    string // the object that the member's administrator has created; %s is the namespace
		conflict v1alpha1.ConflictPolicy
		reason   string // "" if the push succeeds
		words    []string
		data     map[string]string
		adopted  v1alpha1.Adoption
	}{
		"no object": {data: map[string]string{"value": "1"}},
		"another client's object stays as it is, and the message names the client": {
			there:  `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {value: "1"}}`,
			reason: v1alpha1.ReasonObjectExists, words: []string{"ConfigMap a", "managed by admin", "onConflict"},
			data: map[string]string{"value": "1"},
		},
		"another client's equal object is adopted if the author allows it": {
			there:    `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {team: red}}, data: {value: "1"}}`,
			conflict: v1alpha1.ConflictAdoptIfEqual, adopted: v1alpha1.AdoptedYes,
			data: map[string]string{"value": "1"},
		},
		"another client's object with further fields is adopted with them": {
			there:    `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {value: "1", more: "yes"}}`,
			conflict: v1alpha1.ConflictAdoptIfEqual, adopted: v1alpha1.AdoptedYes,
			data: map[string]string{"value": "1", "more": "yes"},
		},
		"another client's different object is not adopted, and the message names the difference": {
			there:    `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {value: "2"}}`,
			conflict: v1alpha1.ConflictAdoptIfEqual, reason: v1alpha1.ReasonObjectExists, words: []string{".data.value", "managed by admin"},
			data: map[string]string{"value": "2"},
		},
		"another wrapper's object": {
			there: `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {federation.fairlead.dev/uid: other},
				annotations: {federation.fairlead.dev/wrapper: federated/x/y,
                    federation.fairlead.dev/object: configmaps/%[1]s/a}}, data: {value: "1"}}`,
			conflict: v1alpha1.ConflictAdoptIfEqual, reason: v1alpha1.ReasonOwnedByOther, words: []string{"federated/x/y"},
			data: map[string]string{"value": "1"},
		},
		"an object that a deleted wrapper of this name kept, with the desired rendering": {
			there: `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {federation.fairlead.dev/uid: dead},
				annotations: {federation.fairlead.dev/wrapper: federated/%[1]s/web, federation.fairlead.dev/rendering: "%[2]s",
                    federation.fairlead.dev/object: configmaps/%[1]s/a}}, data: {value: "0"}}`,
			data: map[string]string{"value": "1"},
		},
		"an object that another wrapper of this name kept, equal except for its marks": {
			there: `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {federation.fairlead.dev/uid: dead},
				annotations: {federation.fairlead.dev/wrapper: federated/%[1]s/web, federation.fairlead.dev/rendering: another,
                    federation.fairlead.dev/object: configmaps/%[1]s/a}}, data: {value: "1"}}`,
			conflict: v1alpha1.ConflictAdoptIfEqual, adopted: v1alpha1.AdoptedYes,
			data: map[string]string{"value": "1"},
		},
		"an object that another wrapper of this name kept, with another content": {
			there: `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {federation.fairlead.dev/uid: dead},
				annotations: {federation.fairlead.dev/wrapper: federated/%[1]s/web, federation.fairlead.dev/rendering: another,
                    federation.fairlead.dev/object: configmaps/%[1]s/a}}, data: {value: "0"}}`,
			reason: v1alpha1.ReasonWrapperReplaced, words: []string{"ConfigMap a", "uid dead", "label it federation.fairlead.dev/uid=uid-"},
			data: map[string]string{"value": "0"},
		},
		"a copy of an object of this wrapper under another name": {
			there: `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {federation.fairlead.dev/uid: uid-%[1]s},
				annotations: {federation.fairlead.dev/object: configmaps/%[1]s/original}}, data: {value: "1"}}`,
			reason: v1alpha1.ReasonObjectExists, data: map[string]string{"value": "1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			s.openNamespace()
			uid := types.UID("")
			w := s.want(configMap("a", "1"), configMap("b", "1"))
			if test.there != "" {
				uid = s.create(fmt.Sprintf(test.there+"%.0[1]s%.0[2]s", s.namespace, objectsOf(t, w)[0].Digest)).GetUID()
			}
			w.OnConflict = test.conflict
			if test.reason == "" {
				s.mustDeliver(w)
			} else {
				s.mustFail(w, test.reason, test.words...)
			}
			a, entry := s.configMap("a"), s.delivery().Spec.Inventory[0]
			if uid != "" && a.UID != uid {
				t.Error("the object was deleted and made again")
			}
			if diff := cmp.Diff(test.data, a.Data); diff != "" {
				t.Errorf("the object's data (-want +got):\n%s", diff)
			}
			if ours := marks.FieldsDigest(a.ManagedFields) != ""; ours != (test.reason == "") {
				t.Errorf("the object has fields of Fairlead: %v", ours)
			}
			if diff := cmp.Diff(test.adopted, entry.Adopted); diff != "" {
				t.Errorf("adopted (-want +got):\n%s", diff)
			}
			if s.configMap("b") == nil {
				t.Error("the other object was delayed")
			}
		})
	}
}

func TestAPassWaitsForAnObjectThatIsBeingDeletedAndMakesItAgain(t *testing.T) {
	s := newSite(t)
	s.openNamespace()
	s.create(`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, finalizers: [example.com/hold]}}`)
	s.delete("v1", "ConfigMap", "a")
	w := s.want(configMap("a", "1"))
	out := s.mustFail(w, v1alpha1.ReasonRemovalWaits, "example.com/hold")
	if out.Retry == 0 {
		t.Error("the pass is not tried again")
	}
	cm := s.configMap("a")
	cm.Finalizers = nil
	if err := s.admin.Update(t.Context(), cm); err != nil {
		t.Fatal(err)
	}
	s.eventually(w)
	if got := s.configMap("a").Data["value"]; got != "1" {
		t.Errorf("a has %q", got)
	}
}

// interrupt makes a pass in which the requests with this name are lost. After that pass, the Delivery lists the wrapper's
// objects. So the next pass looks at these objects instead of sending create-only applies.
func (s *site) interrupt(w *Desired, name string) {
	s.Helper()
	s.wire.begin(func(_ int, req *http.Request) fate {
		if nameOf(req) == name {
			return lost
		}
		return through
	})
	if _, err := s.push(w); err == nil {
		s.Fatal("the pass was not interrupted")
	}
}

// Another client creates the object after the pass has found it absent, and before the pass applies it.
func TestAPassRestoresAnObjectThatAnotherClientCreatedMeanwhile(t *testing.T) {
	s := newSite(t)
	s.openNamespace()
	s.interrupt(s.want(configMap("a", "1")), "PATCH configmaps/a")
	var before *corev1.ConfigMap
	s.wire.begin(s.atOnce("PATCH configmaps/a", func() {
		s.create(`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {note: theirs}}, data: {own: "theirs"}}`)
		before = s.configMap("a")
	}))
	s.mustFail(s.want(configMap("a", "1")), v1alpha1.ReasonObjectExists, "managed by admin")

	after := s.configMap("a")
	strip := func(cm *corev1.ConfigMap) *corev1.ConfigMap {
		cm = cm.DeepCopy()
		cm.ResourceVersion = ""
		for i := range cm.ManagedFields {
			cm.ManagedFields[i].Time = nil
		}
		return cm
	}
	if diff := cmp.Diff(strip(before), strip(after)); diff != "" {
		t.Errorf("the other client's object (-before +after):\n%s", diff)
	}
}

// A request of this host arrives late: it creates the object after the pass has found the object absent.
func TestAPassKeepsAnObjectThatALateRequestOfThisHostCreated(t *testing.T) {
	s := newSite(t)
	w := s.want(configMap("a", "1"))
	s.interrupt(w, "PATCH configmaps/a")
	other := *s
	s.wire.begin(s.atOnce("PATCH configmaps/a", func() {
		other.connect(config)
		object := objectsOf(t, w)[0]
		u, err := object.Unstructured()
		if err != nil {
			t.Fatal(err)
		}
		marks.Stamp(u, marks.Marks{UID: w.Wrapper.UID, Wrapper: marks.WrapperPath(w.Wrapper.Kind, s.namespace, w.Wrapper.Name),
			Object: marks.ObjectPath("configmaps", "", s.namespace, "a"), Rendering: object.Digest})
		body, err := u.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		path := member.Path(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, s.namespace, "a")
		if _, err := member.Do(t.Context(), other.conn.REST().Patch(types.ApplyPatchType).AbsPath(path...).
			Param("fieldManager", v1alpha1.FieldManager).Param("force", "false").Body(body), true); err != nil {
			t.Error(err)
		}
	}))
	s.mustDeliver(w)
	if diff := cmp.Diff(map[string]map[string]string{"a": {"value": "1"}}, s.pushed()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAPassReadsARecordedObjectThatIsGoneOrReplaced(t *testing.T) {
	for name, test := range map[string]struct {
		meanwhile func(*site)
		reason    string
	}{
		"gone: the pass makes it again": {meanwhile: func(s *site) { s.delete("v1", "ConfigMap", "a") }},
		"replaced by another client: the pass does not write it": {
			meanwhile: func(s *site) { s.delete("v1", "ConfigMap", "a"); s.create(configMap("a", "theirs")) },
			reason:    v1alpha1.ReasonObjectExists,
		},
		"replaced by a copy with Fairlead's marks: the pass applies it": {
			meanwhile: func(s *site) {
				cm := s.configMap("a")
				s.delete("v1", "ConfigMap", "a")
				cm.ObjectMeta = metav1.ObjectMeta{Namespace: cm.Namespace, Name: cm.Name, Labels: cm.Labels, Annotations: cm.Annotations}
				if err := s.admin.Create(s.Context(), cm, client.FieldOwner("restore")); err != nil {
					s.Fatal(err)
				}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			s.mustDeliver(s.want(configMap("a", "1")))
			test.meanwhile(s)
			w := s.want(configMap("a", "2"))
			if test.reason != "" {
				s.mustFail(w, test.reason)
				if got := s.configMap("a").Data["value"]; got != "theirs" {
					t.Errorf("the other client's object has %q", got)
				}
				return
			}
			s.mustDeliver(w)
			cm := s.configMap("a")
			if cm.Data["value"] != "2" || s.delivery().Spec.Inventory[0].UID != cm.UID {
				t.Errorf("a has %q, recorded uid %s, actual uid %s", cm.Data["value"], s.delivery().Spec.Inventory[0].UID, cm.UID)
			}
		})
	}
}

func TestAPassGivesUpOnAnObjectThatOthersKeepReplacing(t *testing.T) {
	s := newSite(t)
	s.openNamespace()
	s.wire.begin(func(_ int, req *http.Request) fate {
		switch nameOf(req) {
		case "PATCH configmaps/a":
			s.create(configMap("a", "theirs"))
		case "GET configmaps/a":
			if s.configMap("a") != nil {
				s.delete("v1", "ConfigMap", "a")
			}
		}
		return through
	})
	out := s.mustFail(s.want(configMap("a", "1")), v1alpha1.ReasonPushError, "changed or replaced ConfigMap a 3 times")
	if out.Retry == 0 {
		t.Error("the pass is not tried again")
	}
}

func TestReleaseKeepsEveryValueAndGivesUpOwnership(t *testing.T) {
	s := newSite(t)
	s.mustDeliver(s.want(`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {own: "1"}, annotations: {own: "1"}}, data: ` +
		`{value: "1"}}`))
	before := s.configMap("a")
	found := &metav1.PartialObjectMetadata{ObjectMeta: before.ObjectMeta}
	it := []string{"/api/v1/namespaces", s.namespace, "configmaps", "a"}
	if err := memberapi.Release(t.Context(), s.conn, it, found); err != nil {
		t.Fatal(err)
	}
	after := s.configMap("a")
	if marks.FieldsDigest(after.ManagedFields) != "" {
		t.Errorf("Fairlead still owns fields: %v", after.ManagedFields)
	}
	want := []any{map[string]string{"own": "1"}, map[string]string{"own": "1"}, map[string]string{"value": "1"}}
	if diff := cmp.Diff(want, []any{after.Labels, after.Annotations, after.Data}); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}

	found.UID = "another"
	if err := memberapi.Release(t.Context(), s.conn, it, found); err == nil {
		t.Error("an object of another uid was released")
	}
}
