// SPDX-License-Identifier: Apache-2.0

package push

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/push/namespaces"
	"github.com/fairlead-dev/fairlead/internal/push/plan"
)

// These tests count the requests of a pass. With a thousand wrappers, one more request in each pass makes a thousand
// more.
func TestANewPairCostsTheMemberThreeRequests(t *testing.T) {
	s := newSite(t)
	s.openNamespace()
	clock := clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	d := namespaces.NewCache(clock)
	deliver := func(name string) []string {
		s.wrapper.Name = name
		s.wire.begin(nil)
		out, err := (&pass{conn: s.conn, want: s.want(configMap(name, "1")), namespaces: d, isNew: true}).run(t.Context())
		if err != nil || !out.Done {
			t.Fatalf("%+v, %v", out, err)
		}
		return s.wire.all()
	}
	wanted := func(name string, first ...string) []string {
		delivery := "fed." + s.namespace + "." + name
		return append(first, "POST fairlead-system/deliveries", "PATCH configmaps/"+name, "PATCH deliveries/"+delivery)
	}
	deliver("none") // the connection now has cached how the kind is served
	if diff := cmp.Diff(wanted("one"), deliver("one")); diff != "" {
		t.Errorf("while the namespace is cached as open (-want +got):\n%s", diff)
	}
	clock.Step(10 * time.Second)
	if diff := cmp.Diff(wanted("two", "GET namespaces/"+s.namespace), deliver("two")); diff != "" {
		t.Errorf("after the cache has expired (-want +got):\n%s", diff)
	}
}

func TestTheRepairOfADeletedObjectCostsTheMemberThreeRequests(t *testing.T) {
	s := newSite(t)
	clock := clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	d := namespaces.NewCache(clock)
	repair := func(name string) []string {
		t.Helper()
		s.wrapper.Name = name
		want := s.want(configMap(name, "1"))
		s.mustDeliver(want)
		uid := s.configMap(name).UID
		s.delete("v1", "ConfigMap", name)
		s.wire.begin(nil)
		id := plan.ObjectID{Group: "", Kind: "ConfigMap", Name: name}
		out, err := (&pass{conn: s.conn, want: want, namespaces: d, drifted: map[plan.ObjectID]v1alpha1.DriftKind{id: v1alpha1.DriftGone},
			gone: map[plan.ObjectID]types.UID{id: uid}, recalled: s.recall(), seals: s.seals}).run(t.Context())
		if err != nil || !out.Done {
			t.Fatalf("%+v, %v", out, err)
		}
		return s.wire.all()
	}
	wanted := func(name string, namespace ...string) []string {
		delivery := "deliveries/fed." + s.namespace + "." + name
		return append(namespace, "PATCH "+delivery, "PATCH configmaps/"+name, "PATCH "+delivery)
	}
	check := "GET namespaces/" + s.namespace
	if diff := cmp.Diff(wanted("one", check), repair("one")); diff != "" {
		t.Errorf("the first object (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(wanted("two"), repair("two")); diff != "" {
		t.Errorf("an object that was deleted with it (-want +got):\n%s", diff)
	}
	clock.Step(time.Second)
	if diff := cmp.Diff(wanted("three", check), repair("three")); diff != "" {
		t.Errorf("a second later (-want +got):\n%s", diff)
	}
}

// The member's API server need not track the fields of Deliveries: nothing reads their managedFields.
func TestARecordedDeliveryHasNoManagedFields(t *testing.T) {
	s := newSite(t)
	s.mustDeliver(s.want(configMap("a", "1")))
	check := func(when string) {
		t.Helper()
		if fields := s.delivery().ManagedFields; len(fields) > 0 {
			t.Errorf("%s: %d entries", when, len(fields))
		}
	}
	check("after the first record")
	reported := s.delivery()
	reported.Status.ObservedRendering = reported.Spec.Target.Rendering
	if err := s.admin.Status().Patch(t.Context(), reported, client.MergeFrom(s.delivery()), client.FieldOwner("fairlead-collector")); err != nil {
		t.Fatal(err)
	}
	check("after a report of the collector")
	s.mustDeliver(s.want(configMap("a", "2")))
	check("after another record")
}

func TestAChangedContentCostsTheMemberThreeRequests(t *testing.T) {
	s := newSite(t)
	d := namespaces.NewCache(clocktesting.NewFakeClock(time.Now()))
	change := func(objects ...string) []string {
		t.Helper()
		s.wire.begin(nil)
		out, err := (&pass{conn: s.conn, want: s.want(objects...), namespaces: d, recalled: s.recall(), seals: s.seals}).run(t.Context())
		if err != nil || !out.Done {
			t.Fatalf("%+v, %v", out, err)
		}
		return s.wire.all()
	}
	change(configMap("a", "1"))
	record := "PATCH deliveries/" + s.delivery().Name
	if diff := cmp.Diff([]string{record, "PATCH configmaps/a", record}, change(configMap("a", "2"))); diff != "" {
		t.Errorf("one object (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{record, "PATCH configmaps/b", record}, change(configMap("a", "2"), configMap("b", "1"))); diff != "" {
		t.Errorf("one more object (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{record, "PATCH configmaps/b", record}, change(configMap("a", "2"), configMap("b", "2"))); diff != "" {
		t.Errorf("one of two objects (-want +got):\n%s", diff)
	}
}

func TestAChangedContentWithoutAnIntentCostsTheMemberTwoRequests(t *testing.T) {
	s := newSite(t)
	d := namespaces.NewCache(clocktesting.NewFakeClock(time.Now()))
	change := func(objects ...string) []string {
		t.Helper()
		s.wire.begin(nil)
		out, err := (&pass{conn: s.conn, want: s.want(objects...), namespaces: d, recalled: s.recall(), omitsIntent: true, seals: s.seals}).run(t.Context())
		if err != nil || !out.Done || !out.Recorded {
			t.Fatalf("%+v, %v", out, err)
		}
		return s.wire.all()
	}
	change(configMap("a", "1"), configMap("b", "1"))
	record := "PATCH deliveries/" + s.delivery().Name
	if diff := cmp.Diff([]string{"PATCH configmaps/a", record}, change(configMap("a", "2"), configMap("b", "1"))); diff != "" {
		t.Errorf("one object (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"PATCH configmaps/a", "PATCH configmaps/b", record}, change(configMap("a", "3"), configMap("b", "3"))); diff != "" {
		t.Errorf("two objects (-want +got):\n%s", diff)
	}
	all := func(first string) []string {
		return []string{configMap("0first", first), configMap("a", "3"), configMap("b", "4"), configMap("c", "1")}
	}
	if diff := cmp.Diff([]string{record, "PATCH configmaps/0first", "PATCH configmaps/b", record}, change(all("1")[:3]...)); diff != "" {
		t.Errorf("one more object in front, and a change behind it (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{record, "PATCH configmaps/c", record}, change(all("1")...)); diff != "" {
		t.Errorf("one more object at the end (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"PATCH configmaps/0first", record}, change(all("2")...)); diff != "" {
		t.Errorf("a change of an object that was added (-want +got):\n%s", diff)
	}
	removal := []string{"GET configmaps/0first", "GET " + s.namespace + "/persistentvolumeclaims", "DELETE configmaps/0first", "GET configmaps/0first"}
	if diff := cmp.Diff(slices.Concat([]string{"GET " + record[6:], record}, removal, []string{record}), change(all("2")[1:]...)); diff != "" {
		t.Errorf("one object less (-want +got):\n%s", diff)
	}
	if got := s.configMap("b").Data["value"]; got != "4" {
		t.Errorf("b is %q", got)
	}
}

// The pass that removes the annotation keep is followed by one with an intent: a removal after a death in between would read the
// annotation on the object.
func TestAPassAfterOneWithTheAnnotationKeepWritesItsIntent(t *testing.T) {
	s := newSite(t)
	keeps := fmt.Sprintf(`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {%s: "true"}}, data: {value: "1"}}`, v1alpha1.AnnotationKeep)
	for name, test := range map[string]struct {
		object   string
		recorded bool
	}{
		"an object with the annotation":    {keeps, false},
		"an object without the annotation": {configMap("a", "1"), true},
	} {
		if out := s.mustPush(s.want(test.object)); !out.Done || out.Recorded != test.recorded {
			t.Errorf("%s: %+v", name, out)
		}
	}
}

func TestANewPairDoesNotOverwriteAnExistingDelivery(t *testing.T) {
	s := newSite(t)
	s.mustDeliver(s.want(configMap("a", "1")))
	before := s.delivery()
	if _, err := (&pass{conn: s.conn, want: s.want(configMap("a", "2")), isNew: true}).run(t.Context()); err == nil {
		t.Fatal("no error")
	}
	if diff := cmp.Diff(before, s.delivery()); diff != "" {
		t.Error(diff)
	}
	if got := s.configMap("a").Data["value"]; got != "1" {
		t.Errorf("a is %q", got)
	}
	s.mustDeliver(s.want(configMap("a", "2")))
}

func TestTheNextPassChecksTheNamespaceAgainAfterTrouble(t *testing.T) {
	s := newSite(t)
	d := namespaces.NewCache(clocktesting.NewFakeClock(time.Now()))
	asks := func(w *Desired) bool {
		s.wire.begin(nil)
		if _, err := (&pass{conn: s.conn, want: w, seals: s.seals, namespaces: d}).run(t.Context()); err != nil {
			t.Fatal(err)
		}
		return slices.Contains(s.wire.all(), "GET namespaces/"+s.namespace)
	}
	if !asks(s.want(configMap("a", "1"))) || asks(s.want(configMap("a", "2"))) {
		t.Fatal("the pass does not check the namespace once, and then use the cache")
	}
	bad := fmt.Sprintf("{apiVersion: v1, kind: Service, metadata: {name: %q}, spec: {ports: [{port: 70000}]}}", "web")
	if asks(s.want(bad)) {
		t.Fatal("the cache has lost the open namespace")
	}
	if !asks(s.want(configMap("a", "3"))) {
		t.Error("the next pass does not check the namespace again")
	}
}
