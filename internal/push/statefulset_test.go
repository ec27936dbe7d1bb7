// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

const database = `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db}, spec: {serviceName: db, replicas: 2, podManagementPolicy: Parallel,
	persistentVolumeClaimRetentionPolicy: {whenDeleted: %s}, selector: {matchLabels: {app: db}}, template: {metadata: {labels: {app: db}}, spec:
	{containers: [{name: c, image: i}]}}, volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce],
	storageClassName: none, resources: {requests: {storage: 1Gi}}}}]}}`

func (s *site) ownersOf(claim string) int {
	s.Helper()
	u := s.get("v1", "PersistentVolumeClaim", claim)
	if u == nil || u.GetDeletionTimestamp() != nil {
		return -1
	}
	return len(u.GetOwnerReferences())
}

// A real StatefulSet controller runs on the member. It adds and removes the ownerReferences of the claims.
func TestARemovalMakesAStatefulSetRetainItsClaimsFirst(t *testing.T) {
	s := newSite(t)
	s.mustDeliver(s.want(configMap("a", "1"), fmt.Sprintf(database, "Delete")))
	s.await("the StatefulSet owns its claims", func(context.Context) bool { return s.ownersOf("data-db-0") == 1 && s.ownersOf("data-db-1") == 1 })
	out := s.mustFail(s.leave(), v1alpha1.ReasonRemovalWaits, "StatefulSet db", "whenDeleted: Retain")
	if out.Retry == 0 || s.get("apps/v1", "StatefulSet", "db") == nil {
		t.Fatalf("the StatefulSet was deleted at once, or the pass is not tried again (retry %s)", out.Retry)
	}
	s.eventually(s.leave())
	if s.get("apps/v1", "StatefulSet", "db") != nil || s.configMap("a") != nil || s.delivery() != nil {
		t.Error("something is left")
	}
	if a, b := s.ownersOf("data-db-0"), s.ownersOf("data-db-1"); a != 0 || b != 0 {
		t.Errorf("the claims have %d and %d owners (-1: they are being deleted)", a, b)
	}
}

func TestARemovalWaitsWhileAClaimNamesTheStatefulSetAsOwner(t *testing.T) {
	s := newSite(t)
	s.mustDeliver(s.want(fmt.Sprintf(database, "Delete")))
	// This claim belongs to a replica that was scaled away. The StatefulSet controller does not update its
	// ownerReferences.
	s.owned(strings.Replace(claimNamed(""), "name: data", "name: data-db-7", 1), s.get("apps/v1", "StatefulSet", "db"))
	s.mustFail(s.leave(), v1alpha1.ReasonRemovalWaits)
	s.await("the message names the claim", func(ctx context.Context) bool {
		out, err := (&pass{conn: s.conn, want: s.leave()}).run(ctx)
		return err == nil && out.Reason == v1alpha1.ReasonRemovalWaits && strings.Contains(out.Message, "PersistentVolumeClaim data-db-7")
	})
	s.edit("v1", "PersistentVolumeClaim", "data-db-7", "admin", func(u *unstructured.Unstructured) { u.SetOwnerReferences(nil) })
	s.eventually(s.leave())
	if s.ownersOf("data-db-7") != 0 {
		t.Error("the claim is being deleted")
	}
}

func TestWhenARemovalChangesTheRetentionPolicyOfAStatefulSet(t *testing.T) {
	for name, test := range map[string]struct {
		policy v1alpha1.DeletionPolicy
		when   string
		patch  bool
	}{
		"its policy retains claims": {v1alpha1.KeepData, "Retain", false},
		"the policy is DeleteAll":   {v1alpha1.DeleteAll, "Delete", false},
		"its policy deletes claims": {v1alpha1.KeepData, "Delete", true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			s.mustDeliver(s.want(fmt.Sprintf(database, test.when)))
			w := s.leave()
			w.OnDelete = test.policy
			s.wire.begin(nil)
			s.mustPush(w)
			if got := slices.Contains(s.wire.writes(), "PATCH statefulsets/db"); got != test.patch {
				t.Errorf("writes: %v", s.wire.writes())
			}
			s.eventually(w)
		})
	}
}

// The author allows the manager to delete and recreate the StatefulSet. The author perhaps does not know that its claims
// would be deleted with it.
func TestAnObjectThatOwnsAClaimIsNotReplaced(t *testing.T) {
	replaced := strings.Replace(database, "name: db}", `name: db, annotations: {federation.fairlead.dev/replace: "true"}}`, 1)
	s := newSite(t)
	s.mustDeliver(s.want(fmt.Sprintf(replaced, "Delete")))
	before := s.get("apps/v1", "StatefulSet", "db").GetUID()
	s.await("the StatefulSet owns its claims", func(context.Context) bool { return s.ownersOf("data-db-0") == 1 && s.ownersOf("data-db-1") == 1 })
	other := s.want(strings.Replace(fmt.Sprintf(replaced, "Delete"), "serviceName: db", "serviceName: other", 1))
	s.mustFail(other, v1alpha1.ReasonImmutableField, "StatefulSet db", "PersistentVolumeClaim data-db-")
	if u := s.get("apps/v1", "StatefulSet", "db"); u == nil || u.GetUID() != before || u.GetDeletionTimestamp() != nil {
		t.Fatal("the StatefulSet was deleted")
	}
	s.mustDeliver(s.want(fmt.Sprintf(replaced, "Retain")))
	s.await("the StatefulSet does not own its claims any more", func(context.Context) bool { return s.ownersOf("data-db-0") == 0 && s.ownersOf("data-db-1") == 0 })
	s.eventually(s.want(strings.Replace(fmt.Sprintf(replaced, "Retain"), "serviceName: db", "serviceName: other", 1)))
	if u := s.get("apps/v1", "StatefulSet", "db"); u == nil || u.GetUID() == before || s.ownersOf("data-db-0") < 0 {
		t.Error("the StatefulSet was not made again, or its claim is being deleted")
	}
}
