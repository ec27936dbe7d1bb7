// SPDX-License-Identifier: Apache-2.0

package federated

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/controllers/federated/wrapperevents"
	"github.com/fairlead-dev/fairlead/federate/placement"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
	"github.com/fairlead-dev/fairlead/internal/member"
	"github.com/fairlead-dev/fairlead/internal/push"
	"github.com/fairlead-dev/fairlead/internal/sandbox"
	"github.com/fairlead-dev/fairlead/internal/testing/plane"
)

// shared is the real API server that the tests of this package share. Each test has its own namespace there.
var shared = plane.New(sandbox.Options{Name: "unit-federated"}, prepare)

var (
	config *rest.Config
	sites  atomic.Int64
)

func TestMain(m *testing.M) { os.Exit(shared.Main(m)) }

// prepare installs the CRDs that these tests need.
func prepare(ctx context.Context, s *sandbox.Sandbox) (err error) {
	if config, err = plane.HostConfig(s); err != nil {
		return err
	}
	return plane.InstallCRDs(ctx, config, "federateds")
}

// site is a namespace on the real API server with one wrapper, and a reconciler that records events as the manager
// does.
type site struct {
	*testing.T
	client.Client
	*Reconciler
	wrapper *v1alpha1.Federated
}

func newSite(t *testing.T) *site {
	t.Helper()
	shared.Sandbox(t)
	c, err := client.New(config, client.Options{Scheme: member.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	namespace := &corev1.Namespace{}
	namespace.Name = fmt.Sprintf("s%d-%d", os.Getpid(), sites.Add(1))
	w := &v1alpha1.Federated{}
	w.Namespace, w.Name = namespace.Name, "web"
	w.Spec.Objects = []runtime.RawExtension{{Raw: []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`)}}
	w.Spec.Placement.Clusters = &v1alpha1.ClusterSelection{Names: []string{"east"}}
	for _, obj := range []client.Object{namespace, w} {
		if err := c.Create(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}
	clientset, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: clientset.EventsV1()})
	if err := broadcaster.StartRecordingToSinkWithContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(broadcaster.Shutdown)
	clk := clocktesting.NewFakeClock(now)
	fleet := member.NewFleet(member.Host{}, clk)
	store := deliveries.NewStore(clk)
	pusher := push.New(fleet, store, clk, push.Host{}, func(push.Key) {})
	r := &Reconciler{kind: v1alpha1.KindFederated, client: c, live: c, fleet: fleet, clock: clk,
		deliveries: store, pusher: pusher, orphans: deliveries.NewOrphans(store, pusher.Desired, nil), events: wrapperevents.Bounded{EventRecorder: broadcaster.NewRecorder(member.Scheme, "fairlead")}}
	return &site{T: t, Client: c, Reconciler: r, wrapper: w}
}

// pass returns a reconcile of the wrapper after the step place, which has decided on the given placement.
func (s *site) pass(decided v1alpha1.PlacementStatus) *reconciliation {
	return &reconciliation{Reconciler: s.Reconciler, key: keyOf(s.wrapper), wrapper: s.wrapper, now: now, revision: "fed-web-1",
		decision: placement.Decision{Status: decided, Placed: metav1.ConditionTrue, Reason: v1alpha1.ReasonPlaced}}
}

// ready returns the wrapper's condition Ready from the API server.
func (s *site) ready() metav1.Condition {
	s.Helper()
	stored := &v1alpha1.Federated{}
	if err := s.Get(s.Context(), client.ObjectKeyFromObject(s.wrapper), stored); err != nil {
		s.Fatal(err)
	}
	found := meta.FindStatusCondition(stored.Status.Conditions, v1alpha1.ConditionReady)
	if found == nil {
		s.Fatal("no condition Ready is stored")
	}
	return *found
}

// eventsOf waits for count events about the wrapper with this reason, and returns them.
func (s *site) eventsOf(reason string, count int) []eventsv1.Event {
	s.Helper()
	var found []eventsv1.Event
	err := wait.PollUntilContextTimeout(s.Context(), 20*time.Millisecond, 20*time.Second, true, func(ctx context.Context) (bool, error) {
		list := &eventsv1.EventList{}
		if err := s.List(ctx, list, client.InNamespace(s.wrapper.Namespace)); err != nil {
			return false, err
		}
		found = nil
		for _, e := range list.Items {
			if e.Reason == reason && e.Regarding.UID == s.wrapper.UID {
				found = append(found, e)
			}
		}
		return len(found) >= count, nil
	})
	if err != nil {
		s.Fatalf("%d events with reason %s, want %d", len(found), reason, count)
	}
	return found
}

// The warning about a large outage names many members, and the API server accepts an event note of at most 1,024 bytes.
func TestTheEventOfALargeOutageArrives(t *testing.T) {
	s := newSite(t)
	decided := v1alpha1.PlacementStatus{}
	p := s.pass(decided)
	p.members = make(map[string]*v1alpha1.MemberCluster)
	for i := range 40 {
		mc := &v1alpha1.MemberCluster{}
		mc.Name = fmt.Sprintf("a-member-whose-name-is-as-long-as-a-label-may-be-at-most-%06d", i)
		mc.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse,
			Reason: v1alpha1.ReasonUnreachable, Message: strings.Repeat("no route to hôst; ", 100)}}
		p.members[mc.Name] = mc
		if i < 20 {
			p.decision.Status.Clusters = append(p.decision.Status.Clusters, mc.Name)
		} else {
			p.decision.Status.Leaving = append(p.decision.Status.Leaving, mc.Name)
		}
	}
	if _, err := p.publish(t.Context()); err != nil {
		t.Fatal(err)
	}
	note := s.eventsOf(v1alpha1.ReasonUnreachable, 1)[0].Note
	if !strings.HasPrefix(note, "0 of 20 clusters hold the update revision; the wrapper is still leaving 20 clusters (") || len(note) < 900 {
		t.Errorf("the note of the event has %d bytes: %s", len(note), note)
	}
	if got := s.ready().Message; len(got) <= len(note) {
		t.Errorf("the message of the status was cut like the event: %s", got)
	}
}

// The errors of a spec may be longer than the API server allows for the message of a condition. The manager then has to
// cut the message, or no status would be stored.
func TestAHugeSpecInvalidIsStored(t *testing.T) {
	s := newSite(t)
	p := s.pass(v1alpha1.PlacementStatus{})
	p.invalid = "spec.overrides[0]: no\n" + strings.Repeat("spec.overrides[1].patch[0].value: größer als 64 Bits; ", 10_000)
	p.decision = placement.Decision{}
	if _, err := p.publish(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := s.ready(); got.Reason != v1alpha1.ReasonSpecInvalid || !strings.HasPrefix(got.Message, "spec.overrides[0]: no spec.overrides[1]") ||
		!strings.HasSuffix(got.Message, "…") {
		t.Errorf("%s: %.80s", got.Reason, got.Message)
	}
}

// Objects of one wrapper stay on three members. The manager sends the three events at once, and the recorder must not
// merge them into one. The names of all 60 objects do not fit into an event.
func TestKeptObjectsAreReportedForEachMember(t *testing.T) {
	s := newSite(t)
	p := s.pass(v1alpha1.PlacementStatus{})
	for n, name := range []string{"east", "north", "west"} {
		var kept []push.Kept
		for i := range 60 - n {
			why := "of a kind that holds data, or that data depends on"
			if i%3 == 0 {
				why = "its controller has set finalizer ceph.rook.io/disaster-protection"
			}
			kept = append(kept, push.Kept{Reason: v1alpha1.ReasonKept, Object: fmt.Sprintf("CustomResourceDefinition kind-%02d.of.%s.example.com", i, name), Why: why})
		}
		wrapperevents.Record(p.events, p.wrapper, wrapperevents.KeptOn(p.key, name, kept, nil)...)
	}
	found := make(map[string]string)
	for _, e := range s.eventsOf(v1alpha1.ReasonKept, 3) {
		found[e.Related.Name] = e.Note
	}
	for name, begins := range map[string]string{"east": "60 objects stay on member east", "north": "59 objects stay on member north",
		"west": "58 objects stay on member west"} {
		note := found[name]
		if !strings.HasPrefix(note, begins+" (`hostctl kept web -n "+s.wrapper.Namespace+"` lists all); 20: its controller has set") ||
			!strings.Contains(note, ": of a kind that holds data") || !strings.Contains(note, "kind-07.of."+name) || !strings.HasSuffix(note, "…") {
			t.Errorf("%s: %q", name, note)
		}
	}
}

// More members can be in trouble than a status has lines for. The API server still has to accept the status, in which
// clustersOmitted counts the members without a line.
func TestAStatusOfMoreMembersThanItHasLinesIsStored(t *testing.T) {
	s := newSite(t)
	p := s.pass(v1alpha1.PlacementStatus{})
	p.members = make(map[string]*v1alpha1.MemberCluster)
	for i := range 600 {
		mc := &v1alpha1.MemberCluster{}
		mc.Name = fmt.Sprintf("m-%03d", i)
		mc.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse,
			Reason: v1alpha1.ReasonUnreachable, Message: "no route to host"}}
		p.members[mc.Name] = mc
		p.decision.Status.Clusters = append(p.decision.Status.Clusters, mc.Name)
	}
	if _, err := p.publish(t.Context()); err != nil {
		t.Fatal(err)
	}
	stored := &v1alpha1.Federated{}
	if err := s.Get(t.Context(), client.ObjectKeyFromObject(s.wrapper), stored); err != nil {
		t.Fatal(err)
	}
	want := []v1alpha1.OmittedClusters{{State: v1alpha1.StateUnreachable, Count: 100}}
	if diff := cmp.Diff(want, stored.Status.ClustersOmittedByState); diff != "" || len(stored.Status.Clusters) != 500 || stored.Status.ClustersOmitted != 100 {
		t.Errorf("the stored status has %d lines and omits %d members (-want +got):\n%s", len(stored.Status.Clusters), stored.Status.ClustersOmitted, diff)
	}
}
