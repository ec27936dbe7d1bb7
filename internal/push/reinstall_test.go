// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	operators "github.com/operator-framework/api/pkg/operators/v1alpha1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/health"
	"github.com/fairlead-dev/fairlead/federate/upgrade"
)

func TestAnOperatorIsReinstalledAfterItWasAnnounced(t *testing.T) {
	s := newAheadSite(t)
	m := s.manage(s.wants("db.v1.2.0"), true)
	key, said := KeyOf(s.wrapper), ""
	s.await("it is announced", func(context.Context) bool {
		m.clock.Step(time.Second)
		is := m.Result(key, "east").Reinstall
		if is != nil {
			said = is.Reason + ": " + is.Message
		}
		return is != nil && is.Reason == v1alpha1.ReasonReinstallAnnounced && is.State == v1alpha1.StateProgressing
	}, &said)
	if !strings.Contains(said, "db.v1.2.0, db.v1.3.0 and Subscription db") {
		t.Errorf("the announcement: %s", said)
	}
	// Without a status that shows it, nothing is ever removed. A message of another announcement does not count.
	m.Announced(key, "east", "in 30s the manager removes something else")
	for range 10 {
		m.clock.Step(30 * time.Second)
		s.await("the attempt has ended", func(context.Context) bool { return m.Result(key, "east").Reinstall != nil })
	}
	if s.get(olmVersion, "ClusterServiceVersion", "db.v1.2.0").GetDeletionTimestamp() != nil || len(s.wire.writes()) > 0 {
		t.Fatalf("the manager removed what no status had announced: %v", s.wire.writes())
	}
	s.await("it is reinstalled", func(context.Context) bool { s.step(m); return s.isReinstalled() && m.Pair(key, "east").Holds })
	want := []string{"PATCH deliveries/", "DELETE clusterserviceversions/db.v1.2.0", "DELETE clusterserviceversions/db.v1.3.0", "DELETE subscriptions/db"}
	if writes := s.wire.writes(); len(writes) < len(want) || !slices.EqualFunc(want, writes[:len(want)], func(w, is string) bool { return strings.HasPrefix(is, w) }) {
		t.Errorf("writes in this order: %v, want %v first", writes, want)
	}
	s.await("nothing is under way any more", func(context.Context) bool { s.step(m); return m.Result(key, "east").Reinstall == nil })
	if d := s.delivery(); !strings.Contains(d.Annotations[v1alpha1.AnnotationReinstalls], string(s.uid)) {
		t.Errorf("the Delivery does not record the reinstall: %v", d.Annotations)
	}
}

// The collector is dead from the beginning of the reinstall on, so its report never changes.
func TestAnOperatorIsReinstalledWhereverTheManagerDies(t *testing.T) {
	for point := 1; point <= 7; point++ {
		for _, is := range []fate{lost, unanswered} {
			t.Run(fmt.Sprintf("write %d, fate %d", point, is), func(t *testing.T) {
				t.Parallel() // the test mostly waits for the managers
				s := newAheadSite(t)
				m := s.manage(s.wants("db.v1.2.0"), true)
				var writes atomic.Int64
				var dead atomic.Bool
				s.wire.begin(func(_ int, req *http.Request) fate {
					isWrite := req.Method != http.MethodGet && !req.URL.Query().Has("dryRun")
					if dead.Load() {
						return lost
					}
					if isWrite && writes.Add(1) == int64(point) {
						dead.Store(true)
						return is
					}
					return through
				})
				s.await("the manager dies", func(context.Context) bool { s.step(m); return dead.Load() })
				m.stop()
				// Where nothing had begun, it begins only with a collector.
				hasBegun := s.delivery().Annotations[v1alpha1.AnnotationReinstalls] != ""
				if !hasBegun && point > 1 {
					t.Error("the manager removed something before it recorded that")
				}
				m = s.manage(s.wants("db.v1.2.0"), !hasBegun)
				s.await("it is reinstalled", func(context.Context) bool {
					s.step(m)
					return s.isReinstalled() && m.Pair(KeyOf(s.wrapper), "east").Holds
				})
			})
		}
	}
}

// The author changes the target in the middle. As long as the later version is there and the author accepts it, it stays. Where no version
// is left, the Subscription has to be created again, for the new target.
func TestAReinstallEndsAfterAnotherTarget(t *testing.T) {
	for target, tc := range map[string]struct {
		going string // the deletion of this CSV has begun, and OLM has not finished it
		stays bool
	}{
		"db.v1.1.0": {"db.v1.2.0", false},
		"db.v1.3.0": {"db.v1.2.0", true},
		"db.v1.4.0": {"db.v1.3.0", false},
	} {
		t.Run(target, func(t *testing.T) {
			s := newAheadSite(t)
			m, key := s.manage(s.wants("db.v1.2.0"), true), KeyOf(s.wrapper)
			s.await("a deletion has begun", func(context.Context) bool {
				s.show(m)
				if tc.going != "db.v1.2.0" {
					s.cleanUp("db.v1.2.0")
				}
				m.clock.Step(time.Second)
				going := s.get(olmVersion, "ClusterServiceVersion", tc.going)
				return going != nil && going.GetDeletionTimestamp() != nil
			})
			m.SetDesired("east", s.wants(target))
			s.await("it has ended", func(context.Context) bool {
				s.step(m)
				ended := s.isReinstalled()
				if tc.stays {
					later := s.get(olmVersion, "ClusterServiceVersion", "db.v1.3.0")
					ended = later != nil && later.GetDeletionTimestamp() == nil && s.get(olmVersion, "Subscription", "db").GetUID() == s.uid
				}
				return ended && m.Pair(key, "east").Holds && strings.Contains(s.delivery().Annotations[v1alpha1.AnnotationReinstalls], "ended")
			})
			if is := upgrade.TargetOf(s.get(olmVersion, "Subscription", "db")); is != target {
				t.Errorf("the Subscription has target %s", is)
			}
		})
	}
}

// A record of weeks ago removes nothing, also if the operator is ahead of its target again.
func TestAnOldRecordRemovesNothing(t *testing.T) {
	s := newAheadSite(t)
	csv := s.get(olmVersion, "ClusterServiceVersion", "db.v1.3.0")
	s.annotateDelivery(fmt.Sprintf(`{"db":{"csvs":[{"name":"db.v1.3.0","uid":%q}],"subscription":{"name":"db","uid":%q},"at":"2026-01-01T00:00:00Z"}}`, csv.GetUID(), s.uid))
	s.wire.begin(nil)
	if is := s.attempt(s.wants("db.v1.2.0")); is.Step != upgrade.End || !strings.Contains(is.Message, "it began more than 10m0s ago") {
		t.Errorf("step %d: %s", is.Step, is.Message)
	}
	if writes := s.wire.writes(); len(writes) != 1 || !strings.HasPrefix(writes[0], "PATCH deliveries/") {
		t.Errorf("the manager wrote %v", writes)
	}
	if is := s.attempt(s.wants("db.v1.2.0")); is.Step != upgrade.Remove || is.Next.Name != "db.v1.2.0" {
		t.Errorf("after a new announcement: step %d: %s", is.Step, is.Message)
	}
}

func TestAnAnnouncedReinstallIsTakenBackByTheAuthor(t *testing.T) {
	for name, change := range map[string]func(*Desired){
		"the policy is Never":    func(w *Desired) { w.Reinstalls = false },
		"it is others' turn":     func(w *Desired) { w.MayReinstall, w.ReinstallWaits = false, "WaveHeld" },
		"nothing may be written": func(w *Desired) { w.Suspended = true },
	} {
		t.Run(name, func(t *testing.T) {
			s := newAheadSite(t)
			m, key := s.manage(s.wants("db.v1.2.0"), true), KeyOf(s.wrapper)
			s.await("it is announced", func(context.Context) bool {
				m.clock.Step(time.Second)
				is := m.Result(key, "east").Reinstall
				return is != nil && is.Reason == v1alpha1.ReasonReinstallAnnounced
			})
			m.Announced(key, "east", health.Clean(m.Result(key, "east").Reinstall.Message, upgrade.MaxAnnouncement))
			w := s.wants("db.v1.2.0")
			change(w)
			m.SetDesired("east", w)
			asked := len(s.wire.all())
			s.await("the manager has looked again, or needs not", func(context.Context) bool {
				m.clock.Step(30 * time.Second)
				return w.Suspended || !w.Reinstalls || len(s.wire.all()) > asked+2
			})
			if writes := s.wire.writes(); len(writes) > 0 {
				t.Errorf("the manager wrote %v", writes)
			}
		})
	}
}

func TestWhatAMemberSaysKeepsTheOperator(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(s *aheadSite)
		want   string
	}{
		"the CatalogSource does not answer": {func(s *aheadSite) { s.catalog("TRANSIENT_FAILURE") }, "is missing or not READY"},
		"the CatalogSource is missing":      {func(s *aheadSite) { s.delete(olmVersion, "CatalogSource", "operators") }, "is missing or not READY"},
		"an InstallPlan is executed": {func(s *aheadSite) {
			s.pending("install-9", "db.v1.3.0")
			s.edit(olmVersion, "InstallPlan", "install-9", "olm", func(u *unstructured.Unstructured) {
				_ = unstructured.SetNestedField(u.Object, true, "spec", "approved")
			})
		}, "OLM is executing InstallPlan install-9"},
		"there is no OperatorGroup": {func(s *aheadSite) { s.delete("operators.coreos.com/v1", "OperatorGroup", "db") }, "exactly one OperatorGroup"},
		"there are two OperatorGroups": {func(s *aheadSite) {
			s.create(`{apiVersion: operators.coreos.com/v1, kind: OperatorGroup, metadata: {name: second}, spec: {}}`)
		}, "exactly one OperatorGroup"},
		"the namespace was closed": {func(s *aheadSite) { s.label(v1alpha1.LabelOpen, "false") }, "the member has not opened it"},
		"OLM would clean up": {func(s *aheadSite) {
			s.edit(olmVersion, "ClusterServiceVersion", "db.v1.3.0", "admin", func(u *unstructured.Unstructured) {
				_ = unstructured.SetNestedField(u.Object, true, "spec", "cleanup", "enabled")
			})
		}, "spec.cleanup.enabled"},
		"a claim belongs to the operator": {func(s *aheadSite) {
			csv := s.get(olmVersion, "ClusterServiceVersion", "db.v1.2.0")
			s.create(fmt.Sprintf(`{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, ownerReferences: [{apiVersion: %s, kind: ClusterServiceVersion, name: db.v1.2.0, uid: %s}]},
				spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}`, olmVersion, csv.GetUID()))
		}, "PersistentVolumeClaim data would be deleted with it"},
		"the Delivery says that it was adopted": {func(s *aheadSite) {
			d := s.delivery()
			for i := range d.Spec.Inventory {
				d.Spec.Inventory[i].Adopted = v1alpha1.AdoptedYes
			}
			if err := s.admin.Update(s.Context(), d); err != nil {
				s.Fatal(err)
			}
		}, "was adopted"},
		"another client has changed the channel": {func(s *aheadSite) {
			s.edit(olmVersion, "Subscription", "db", "admin", func(u *unstructured.Unstructured) {
				_ = unstructured.SetNestedField(u.Object, "beta", "spec", "channel")
			})
		}, "has changed channel of Subscription db"},
		"the record cannot be read": {func(s *aheadSite) { s.annotateDelivery("{") }, "it is not known what was begun"},
		"it was reinstalled a moment ago": {func(s *aheadSite) {
			s.annotateDelivery(`{"db":{"csvs":[],"subscription":{"name":"db","uid":"earlier"},"at":"` + time.Now().UTC().Format(time.RFC3339) + `","ended":"2026-01-01T00:00:00Z","settled":true}}`)
		}, "a reinstall of it began at"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newAheadSite(t)
			tc.change(s)
			s.wire.begin(nil)
			if is := s.attempt(s.wants("db.v1.2.0")); is.Step != upgrade.Keep || !strings.Contains(is.Message, tc.want) {
				t.Errorf("step %d: %s", is.Step, is.Message)
			}
			if writes := s.wire.writes(); len(writes) > 0 {
				t.Errorf("the manager wrote %v", writes)
			}
		})
	}
}

// The manager asks before the first removal whether it may make all of them, and create the Subscription again.
func TestWithoutARightTheOperatorIsKept(t *testing.T) {
	for name, tc := range map[string]struct {
		verbs []string // on Subscriptions, besides get and list
		want  string
	}{
		"to delete the Subscription":       {nil, "resources: [subscriptions], verbs: [get, list, delete]"},
		"to create the Subscription again": {[]string{"delete", "patch"}, "resources: [subscriptions], verbs: [get, list, create, patch]"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newAheadSite(t)
			allow := func(group string, resources []string, verbs ...string) rbacv1.PolicyRule {
				return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: append([]string{"get", "list"}, verbs...)}
			}
			s.restricted(allow(operators.GroupName, []string{"*"}), allow("packages.operators.coreos.com", []string{"*"}), allow("apiextensions.k8s.io", []string{"*"}),
				allow("", []string{"namespaces", "persistentvolumeclaims"}), allow(v1alpha1.Group, []string{"deliveries"}, "patch"),
				allow(operators.GroupName, []string{"clusterserviceversions"}, "delete"), allow(operators.GroupName, []string{"subscriptions"}, tc.verbs...))
			said := ""
			s.await("the missing right is named", func(context.Context) bool { // an API server needs a moment to read a new role
				is := s.attempt(s.wants("db.v1.2.0"))
				said = is.Message
				return is.Step == upgrade.Keep && strings.Contains(said, tc.want)
			}, &said)
			if d := s.delivery(); d.Annotations[v1alpha1.AnnotationReinstalls] != "" || s.get(olmVersion, "ClusterServiceVersion", "db.v1.2.0").GetDeletionTimestamp() != nil {
				t.Error("the reinstall has begun although it cannot end")
			}
		})
	}
}

func TestTheCatalogAndTheCRDsOfAMemberAreRead(t *testing.T) {
	s := newAheadSite(t)
	const packages = "packages.operators.coreos.com"
	// OLM's package server does not run on this API server. A CRD serves the same kind.
	definition := func(group, plural, kind string, versions ...string) *unstructured.Unstructured {
		var all []string
		for i, v := range versions {
			all = append(all, fmt.Sprintf("{name: %s, served: true, storage: %v, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}", v, i == len(versions)-1))
		}
		u := s.parse(`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: ` + plural + `.` + group + `},
			spec: {group: ` + group + `, scope: Namespaced, names: {plural: ` + plural + `, kind: ` + kind + `}, versions: [` + strings.Join(all, ", ") + `]}}`)
		if err := s.admin.Create(s.Context(), u); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.admin.Delete(context.WithoutCancel(t.Context()), u) })
		s.served(group+"/"+versions[len(versions)-1], kind)
		return u
	}
	keeps := func(want string) {
		t.Helper()
		is := s.attempt(s.wants("db.v1.2.0"))
		if is.Step != upgrade.Keep || !strings.Contains(is.Message, want) {
			t.Errorf("step %d: %s, want %q", is.Step, is.Message, want)
		}
	}
	group := s.namespace + ".example.org"
	for _, name := range []string{"db.v1.2.0", "db.v1.3.0"} {
		csv := s.get(olmVersion, "ClusterServiceVersion", name)
		if err := unstructured.SetNestedSlice(csv.Object, []any{map[string]any{"name": "dbs." + group, "version": "v1", "kind": "DB"}}, "spec", "customresourcedefinitions", "owned"); err != nil {
			t.Fatal(err)
		}
		if err := s.admin.Update(s.Context(), csv); err != nil {
			t.Fatal(err)
		}
	}
	definition(group, "dbs", "DB", "v1", "v2")
	keeps("CRD dbs." + group + " may have objects stored in version v2")
	crd := s.parse(`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: dbs.` + group + `}}`)
	if err := s.admin.Get(s.Context(), client.ObjectKeyFromObject(crd), crd); err != nil {
		t.Fatal(err)
	}
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	for i, v := range versions {
		v.(map[string]any)["storage"] = i == 0 //nolint:forcetypeassert // a CRD has objects there
	}
	_ = unstructured.SetNestedSlice(crd.Object, versions, "spec", "versions")
	if err := s.admin.Update(s.Context(), crd); err != nil {
		t.Fatal(err)
	}
	if err := s.admin.Get(s.Context(), client.ObjectKeyFromObject(crd), crd); err != nil {
		t.Fatal(err)
	}
	_ = unstructured.SetNestedStringSlice(crd.Object, []string{"v1"}, "status", "storedVersions")
	if err := s.admin.Status().Update(s.Context(), crd); err != nil {
		t.Fatal(err)
	}

	definition(packages, "packagemanifests", "PackageManifest", "v1")
	keeps("the package server has no package db")
	manifest := s.create(`{apiVersion: ` + packages + `/v1, kind: PackageManifest, metadata: {name: db}, status: {catalogSource: operators, catalogSourceNamespace: ` + s.namespace + `,
		channels: [{name: stable, currentCSV: db.v1.3.0, entries: [{name: db.v1.3.0}]}]}}`)
	keeps("lacks db.v1.2.0")
	_ = unstructured.SetNestedField(manifest.Object, []any{map[string]any{"name": "stable", "currentCSV": "db.v1.3.0", "entries": []any{map[string]any{"name": "db.v1.2.0"}}}}, "status", "channels")
	if err := s.admin.Update(s.Context(), manifest); err != nil {
		t.Fatal(err)
	}
	if is := s.attempt(s.wants("db.v1.2.0")); is.Step != upgrade.Remove || is.Next.Name != "db.v1.2.0" {
		t.Errorf("step %d: %s", is.Step, is.Message)
	}
}

// Without --reinstall-operators a manager does not even look, whatever the wrapper says.
func TestWithoutTheFlagNothingIsReinstalled(t *testing.T) {
	s := newAheadSite(t)
	m, key := s.manageAs(s.wants("db.v1.2.0"), Host{Observes: func(string) bool { return true }}), KeyOf(s.wrapper)
	s.await("the Delivery is known", func(context.Context) bool { return m.Pair(key, "east").Holds })
	m.clock.Step(time.Hour)
	m.SetDesired("east", s.wants("db.v1.1.0"))
	s.await("a later pass has ended", func(context.Context) bool {
		return upgrade.TargetOf(s.get(olmVersion, "Subscription", "db")) == "db.v1.1.0" && m.Pair(key, "east").Holds
	})
	if is := m.Result(key, "east").Reinstall; is != nil {
		t.Errorf("the manager says %+v", is)
	}
	for _, request := range s.wire.all() {
		if strings.Contains(request, "clusterserviceversions") || strings.HasPrefix(request, "DELETE") {
			t.Errorf("the manager sent %s", request)
		}
	}
}

// After a restart without --reinstall-operators no operator would run if nobody finished what has begun.
func TestWithoutTheFlagAReinstallThatHasBegunIsFinished(t *testing.T) {
	s := newAheadSite(t)
	var recorded []string
	for _, name := range []string{"db.v1.2.0", "db.v1.3.0"} {
		recorded = append(recorded, fmt.Sprintf(`{"name":%q,"uid":%q}`, name, s.get(olmVersion, "ClusterServiceVersion", name).GetUID()))
		s.delete(olmVersion, "ClusterServiceVersion", name)
		s.cleanUp(name)
	}
	s.annotateDelivery(fmt.Sprintf(`{"db":{"csvs":[%s],"subscription":{"name":"db","uid":%q},"at":%q}}`, strings.Join(recorded, ","), s.uid, time.Now().UTC().Format(time.RFC3339)))
	w := s.wants("db.v1.2.0")
	w.Reinstalls, w.MayReinstall = false, false // what the controller passes on without the flag
	m := s.manageAs(w, Host{Observes: func(string) bool { return false }})
	s.await("it is reinstalled", func(context.Context) bool {
		s.step(m)
		return s.isReinstalled() && m.Pair(KeyOf(s.wrapper), "east").Holds
	})
}
