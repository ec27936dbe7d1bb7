// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

const claim1 = `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data%s}, spec: {accessModes: [ReadWriteOnce], ` +
	`storageClassName: none, resources: {requests: {storage: 1Gi}}}}`

func claimNamed(annotations string) string { return fmt.Sprintf(claim1, annotations) }

func TestWhatAWrapperRemovesAndKeepsWhenItLeaves(t *testing.T) {
	for name, test := range map[string]struct {
		policy v1alpha1.DeletionPolicy
		keep   string
		claim  bool // whether it is still on the member
		config bool
	}{
		"KeepData keeps claims and removes the rest": {policy: v1alpha1.KeepData, claim: true},
		"KeepData removes a claim whose author allows it": {policy: v1alpha1.KeepData,
			keep: `, annotations: {federation.fairlead.dev/keep: "false"}`},
		"DeleteAll removes claims too": {policy: v1alpha1.DeleteAll},
		"DeleteAll keeps a claim whose author wants that": {policy: v1alpha1.DeleteAll,
			keep: `, annotations: {federation.fairlead.dev/keep: "true"}`, claim: true},
		"KeepAll keeps everything": {policy: v1alpha1.KeepAll, claim: true, config: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			w := s.want(configMap("a", "1"), claimNamed(test.keep))
			w.OnDelete = test.policy
			s.mustDeliver(w)

			w = s.leave()
			w.OnDelete = test.policy
			s.eventually(w)
			claim := s.get("v1", "PersistentVolumeClaim", "data")
			if got := claim != nil; got != test.claim {
				t.Errorf("the claim exists: %v", got)
			}
			if got := s.configMap("a") != nil; got != test.config {
				t.Errorf("the ConfigMap exists: %v", got)
			}
			if claim != nil && claim.GetLabels()[v1alpha1.LabelUID] != string(s.wrapper.UID) {
				t.Errorf("the kept claim lost its marks: %v", claim.GetLabels())
			}
			if s.delivery() != nil {
				t.Error("the Delivery still exists")
			}
			if s.get("v1", "Namespace", s.namespace) == nil {
				t.Error("the namespace that the manager created was deleted")
			}
		})
	}
}

func TestAnObjectThatAnotherClientMadeAgainIsNotDeleted(t *testing.T) {
	s := newSite(t)
	s.mustDeliver(s.want(configMap("a", "1")))
	cm := s.configMap("a")
	s.delete("v1", "ConfigMap", "a")
	// The new object must stay even if it has Fairlead's marks.
	cm.ObjectMeta = metav1.ObjectMeta{Namespace: cm.Namespace, Name: cm.Name, Labels: cm.Labels, Annotations: cm.Annotations}
	if err := s.admin.Create(t.Context(), cm); err != nil {
		t.Fatal(err)
	}
	w := s.leave()
	w.OnDelete = v1alpha1.DeleteAll
	s.mustDeliver(w)
	if got := s.configMap("a"); got == nil || got.DeletionTimestamp != nil {
		t.Error("the object was deleted")
	}
}

// Another client replaces the object between the pass's read and its deletion. The deletion must not remove the new
// object.
func TestADeletionNamesTheUIDThatThePassRead(t *testing.T) {
	s := newSite(t)
	s.mustDeliver(s.want(configMap("a", "1")))
	s.wire.begin(s.atOnce("DELETE configmaps/a", func() {
		s.delete("v1", "ConfigMap", "a")
		s.create(configMap("a", "theirs"))
	}))
	w := s.leave()
	s.mustFail(w, v1alpha1.ReasonPushError)
	s.mustDeliver(w)
	if got := s.configMap("a"); got == nil || got.Data["value"] != "theirs" {
		t.Errorf("the other client's object is %v", got)
	}
}

func TestAnAdoptedObjectIsReleasedExceptUnderDeleteAll(t *testing.T) {
	const kept = `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {federation.fairlead.dev/keep: "true"}}, data: {value: "1"}}`
	for name, test := range map[string]struct {
		policy v1alpha1.DeletionPolicy
		object string
		there  bool
	}{
		"KeepData releases":                        {policy: v1alpha1.KeepData, object: configMap("a", "1"), there: true},
		"KeepData releases what the author keeps":  {policy: v1alpha1.KeepData, object: kept, there: true},
		"KeepAll releases":                         {policy: v1alpha1.KeepAll, object: configMap("a", "1"), there: true},
		"DeleteAll deletes":                        {policy: v1alpha1.DeleteAll, object: configMap("a", "1")},
		"DeleteAll releases what the author keeps": {policy: v1alpha1.DeleteAll, object: kept, there: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			s.openNamespace()
			s.create(test.object)
			w := s.want(test.object)
			w.OnConflict, w.OnDelete = v1alpha1.ConflictAdoptIfEqual, test.policy
			s.mustDeliver(w)

			w = s.leave()
			w.OnDelete = test.policy
			s.mustDeliver(w)
			cm := s.configMap("a")
			if (cm != nil) != test.there {
				t.Fatalf("the object exists: %v", cm != nil)
			}
			if cm == nil {
				return
			}
			delete(cm.Annotations, v1alpha1.AnnotationKeep)
			if cm.Labels[v1alpha1.LabelUID] != "" || len(cm.Annotations) > 0 || cm.Data["value"] != "1" {
				t.Errorf("the released object was changed: %v %v %v", cm.Labels, cm.Annotations, cm.Data)
			}
		})
	}
}

// A wrapper adopts an object and leaves, and then a later wrapper of the same name does the same. The object stays both
// times.
func TestALaterWrapperAdoptsAndReleasesAnObjectAgain(t *testing.T) {
	s := newSite(t)
	s.openNamespace()
	s.create(configMap("a", "1"))
	for _, policy := range []v1alpha1.DeletionPolicy{v1alpha1.KeepAll, v1alpha1.KeepData} {
		w := s.want(configMap("a", "1"))
		w.OnConflict, w.OnDelete = v1alpha1.ConflictAdoptIfEqual, policy
		s.mustDeliver(w)
		if adopted := s.delivery().Spec.Inventory[0].Adopted; adopted != v1alpha1.AdoptedYes {
			t.Errorf("under %s the Delivery records adopted: %q", policy, adopted)
		}
		w = s.leave()
		w.OnDelete = policy
		s.mustDeliver(w)
		if s.configMap("a") == nil {
			t.Fatalf("under %s the member's object was deleted", policy)
		}
		s.wrapper.UID += "-anew"
	}
}

// KeepAll is the remedy for a kind that the member does not serve, so it must not wait until the object can be
// released.
func TestKeepAllDoesNotWaitForTheKindOfAnAdoptedObject(t *testing.T) {
	s := newSite(t)
	group := s.namespace + ".example.com"
	s.recorded(group)
	d := s.delivery()
	d.Spec.Inventory[1].Adopted = v1alpha1.AdoptedYes
	if err := s.admin.Update(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	s.aggregate(group)
	w := s.leave()
	s.mustFail(w, v1alpha1.ReasonRemovalWaits, "Crate c", "KeepAll")
	w.OnDelete = v1alpha1.KeepAll
	s.mustDeliver(w)
	if s.delivery() != nil {
		t.Error("the Delivery still exists")
	}
}

func TestRemovalGoesRankByRankInReverseInstallOrder(t *testing.T) {
	s := newSite(t)
	// The install order is ConfigMap, Job, so the Job is removed first. A finalizer delays the removal of the Job.
	job := `{apiVersion: batch/v1, kind: Job, metadata: {name: j, finalizers: [example.com/hold]}, spec: {suspend: true, template: ` +
		`{spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}`
	w := s.want(configMap("a", "1"), strings.Replace(job, ", finalizers: [example.com/hold]", "", 1))
	s.mustDeliver(w)
	s.edit("batch/v1", "Job", "j", "admin", func(u *unstructured.Unstructured) { u.SetFinalizers([]string{"example.com/hold"}) })
	out := s.mustFail(s.leave(), v1alpha1.ReasonRemovalWaits, "Job j", "example.com/hold")
	if s.configMap("a") == nil || out.Retry == 0 {
		t.Errorf("the ConfigMap was removed before the Job, or the pass is not tried again (retry %s)", out.Retry)
	}
	if diff := cmp.Diff([]string{"ConfigMap a Removing", "Job j Removing"}, s.inventory()); diff != "" {
		t.Errorf("inventory (-want +got):\n%s", diff)
	}
	s.edit("batch/v1", "Job", "j", "admin", func(u *unstructured.Unstructured) { u.SetFinalizers(nil) })
	s.eventually(s.leave())
	if s.configMap("a") != nil || s.delivery() != nil {
		t.Error("something is left")
	}
}

func TestAPassRemovesAnObjectThatTheWrapperDropped(t *testing.T) {
	s := newSite(t)
	s.mustDeliver(s.want(configMap("a", "1"), configMap("b", "1")))
	s.wire.begin(nil)
	s.mustDeliver(s.want(configMap("a", "1")))
	record := "PATCH deliveries/" + s.delivery().Name
	if diff := cmp.Diff([]string{record, "DELETE configmaps/b", record}, s.wire.writes()); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"ConfigMap a Applied"}, s.inventory()); diff != "" {
		t.Errorf("inventory (-want +got):\n%s", diff)
	}
}

func crd(plural, kind, group, scope string, versions ...string) string {
	var all []string
	for i, v := range versions {
		all = append(all, fmt.Sprintf(`{name: %s, served: true, storage: %v, schema: {openAPIV3Schema: {type: object, `+
			`x-kubernetes-preserve-unknown-fields: true}}}`, v, i == 0))
	}
	return fmt.Sprintf(`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: %s.%s}, spec: {group: `+
		`%s, scope: %s, names: {plural: %s, kind: %s}, versions: [%s]}}`,
		plural, group, group, scope, plural, kind, strings.Join(all, ", "))
}

func (s *site) served(apiVersion, kind string) {
	s.Helper()
	s.await(kind+" is served", func(ctx context.Context) bool {
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion(apiVersion)
		list.SetKind(kind + "List")
		return s.admin.List(ctx, list) == nil
	})
}
