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

// The member's own StatefulSet controller writes and removes the ownerReferences.
func TestAStatefulSetThatWouldTakeItsClaimsAlongLetsGoOfThemFirst(t *testing.T) {
	s := newSite(t)
	s.mustDeliver(s.want(configMap("a", "1"), fmt.Sprintf(database, "Delete")))
	s.await("its claims are its own", func(context.Context) bool { return s.ownersOf("data-db-0") == 1 && s.ownersOf("data-db-1") == 1 })
	out := s.mustFail(s.leave(), v1alpha1.ReasonRemovalWaits, "StatefulSet db", "whenDeleted: Retain")
	if out.Retry == 0 || s.get("apps/v1", "StatefulSet", "db") == nil {
		t.Fatalf("it went at once, or nobody comes back (retry %s)", out.Retry)
	}
	s.eventually(s.leave())
	if s.get("apps/v1", "StatefulSet", "db") != nil || s.configMap("a") != nil || s.delivery() != nil {
		t.Error("something is left")
	}
	if a, b := s.ownersOf("data-db-0"), s.ownersOf("data-db-1"); a != 0 || b != 0 {
		t.Errorf("the claims have %d and %d owners (-1: they go)", a, b)
	}
}

func TestAStatefulSetWaitsForAClaimThatStillNamesIt(t *testing.T) {
	s := newSite(t)
	s.mustDeliver(s.want(fmt.Sprintf(database, "Delete")))
	// As of a replica that was scaled away: the controller no longer updates that claim.
	s.owned(strings.Replace(claimNamed(""), "name: data", "name: data-db-7", 1), s.get("apps/v1", "StatefulSet", "db"))
	s.mustFail(s.leave(), v1alpha1.ReasonRemovalWaits)
	s.await("it says which claim", func(ctx context.Context) bool {
		out, err := (&pass{conn: s.conn, want: s.leave()}).run(ctx)
		return err == nil && out.Reason == v1alpha1.ReasonRemovalWaits && strings.Contains(out.Message, "PersistentVolumeClaim data-db-7")
	})
	s.edit("v1", "PersistentVolumeClaim", "data-db-7", "admin", func(u *unstructured.Unstructured) { u.SetOwnerReferences(nil) })
	s.eventually(s.leave())
	if s.ownersOf("data-db-7") != 0 {
		t.Error("the claim goes")
	}
}

func TestAStatefulSetIsLeftAsItIsWhere(t *testing.T) {
	for name, test := range map[string]struct {
		policy v1alpha1.DeletionPolicy
		when   string
		patch  bool
	}{
		"it keeps its claims anyhow": {v1alpha1.KeepData, "Retain", false},
		"everything is to go":        {v1alpha1.DeleteAll, "Delete", false},
		"it would take them along":   {v1alpha1.KeepData, "Delete", true},
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

// The author lets the manager delete the object and make it again, and may not expect that its deletion would delete
// claims.
func TestAnObjectThatAClaimLeadsToIsNotMadeAgain(t *testing.T) {
	replaced := strings.Replace(database, "name: db}", `name: db, annotations: {federation.fairlead.dev/replace: "true"}}`, 1)
	s := newSite(t)
	s.mustDeliver(s.want(fmt.Sprintf(replaced, "Delete")))
	before := s.get("apps/v1", "StatefulSet", "db").GetUID()
	s.await("its claims are its own", func(context.Context) bool { return s.ownersOf("data-db-0") == 1 && s.ownersOf("data-db-1") == 1 })
	other := s.want(strings.Replace(fmt.Sprintf(replaced, "Delete"), "serviceName: db", "serviceName: other", 1))
	s.mustFail(other, v1alpha1.ReasonImmutableField, "StatefulSet db", "PersistentVolumeClaim data-db-")
	if u := s.get("apps/v1", "StatefulSet", "db"); u == nil || u.GetUID() != before || u.GetDeletionTimestamp() != nil {
		t.Fatal("it was deleted")
	}
	s.mustDeliver(s.want(fmt.Sprintf(replaced, "Retain")))
	s.await("it has let go of its claims", func(context.Context) bool { return s.ownersOf("data-db-0") == 0 && s.ownersOf("data-db-1") == 0 })
	s.eventually(s.want(strings.Replace(fmt.Sprintf(replaced, "Retain"), "serviceName: db", "serviceName: other", 1)))
	if u := s.get("apps/v1", "StatefulSet", "db"); u == nil || u.GetUID() == before || s.ownersOf("data-db-0") < 0 {
		t.Error("it was not made again, or its claim goes")
	}
}
