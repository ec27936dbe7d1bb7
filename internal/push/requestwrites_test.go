// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	rules "github.com/fairlead-dev/fairlead/federate/evidencerequest"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
	"github.com/fairlead-dev/fairlead/internal/member"
	"github.com/fairlead-dev/fairlead/internal/push/apply"
)

var (
	requestEnd = metav1.NewTime(time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC))
	forLogs    = []v1alpha1.EvidenceRequest{{Group: "apps", Kind: "Deployment", Name: "web", Type: v1alpha1.EvidenceLogs, SinceSeconds: 60, Expires: requestEnd}}
	forEvents  = []v1alpha1.EvidenceRequest{{Kind: "ConfigMap", Name: "a", Type: v1alpha1.EvidenceEvents, Expires: requestEnd}}
)

// awaitRequests waits until the Delivery has these requests.
func (s *site) awaitRequests(p *Pusher, want []v1alpha1.EvidenceRequest) {
	s.Helper()
	s.await("the Delivery has the requests", func(context.Context) bool {
		isWritten, problem := p.RequestsOf(KeyOf(s.wrapper), "east")
		d := s.delivery()
		return problem == nil && (isWritten || len(want) == 0) && d != nil && rules.SameList(d.Spec.Requests, want)
	})
}

// awaitProblem waits until the requests have a problem with this reason.
func (s *site) awaitProblem(p *Pusher, reason string) {
	s.Helper()
	last := ""
	s.await("want "+reason, func(context.Context) bool {
		_, problem := p.RequestsOf(KeyOf(s.wrapper), "east")
		if problem == nil {
			last = "none"
			return false
		}
		last = problem.Reason + ": " + problem.Message
		return problem.Reason == reason
	}, &last)
}

func TestRequestsTravelInTheDeliveryAndChangeNothingElse(t *testing.T) {
	s := newSite(t)
	p := s.engage()
	p.probed("east", member.ProbeResult{}, usable)
	key := KeyOf(s.wrapper)
	var told atomic.Int64
	p.OnRequests(func(k Key, memberName string, d *v1alpha1.Delivery) {
		if k == key && memberName == "east" && d != nil {
			told.Add(1)
		}
	})
	p.SetDesired("east", s.want(configMap("a", "1")))
	s.await("the pair is served", func(context.Context) bool { return p.Pair(key, "east").Holds })
	before := s.delivery()

	p.SetRequests(key, "east", forLogs)
	s.awaitRequests(p, forLogs)
	after := s.delivery()
	after.Spec.Requests = nil
	if diff := cmp.Diff(before.Spec, after.Spec); diff != "" {
		t.Error(diff)
	}
	if told.Load() != 1 {
		t.Errorf("the listener got %d Deliveries", told.Load())
	}
	s.await("the watch brings the write", func(context.Context) bool { return p.Pair(key, "east").Summary.Generation == after.Generation })
	s.wire.begin(nil)
	p.SetRequests(key, "east", slices.Clone(forLogs))
	s.await("the queue is empty", func(context.Context) bool { return p.queues["east"].queue.Len() == 0 })
	if writes := s.wire.writes(); len(writes) > 0 {
		t.Errorf("equal requests cost %q", writes)
	}

	// A pass keeps the requests, whether it reads the Delivery or remembers it, and whatever it writes.
	for _, objects := range [][]string{{configMap("a", "2")}, {configMap("a", "2"), configMap("b", "1")}, {configMap("b", "2")}} {
		w := s.want(objects...)
		p.SetDesired("east", w)
		s.await("the pass is done", func(context.Context) bool {
			pair := p.Pair(key, "east")
			return pair.Holds && pair.Summary.Rendering == w.Digest()
		})
		if got := s.delivery().Spec.Requests; !rules.SameList(got, forLogs) {
			t.Fatalf("after a pass the requests are %+v", got)
		}
	}

	p.SetRequests(key, "east", forEvents)
	s.awaitRequests(p, forEvents)
	p.SetRequests(key, "east", nil)
	s.awaitRequests(p, nil)
	s.await("nothing is remembered", func(context.Context) bool {
		p.requests.mu.Lock()
		defer p.requests.mu.Unlock()
		return len(p.requests.all) == 0
	})
}

// The passes of this test read the Delivery. In the test above, the queue gives its passes the summary in memory.
func TestAPassThatReadsTheDeliveryKeepsItsRequests(t *testing.T) {
	s := newSite(t)
	s.mustDeliver(s.want(configMap("a", "1")))
	if _, err := apply.WriteRequests(t.Context(), s.conn, KeyOf(s.wrapper), s.delivery().UID, "uid-of-another", forLogs); !apierrors.IsInvalid(err) {
		t.Errorf("the Delivery of another wrapper: %v", err)
	}
	if _, err := apply.WriteRequests(t.Context(), s.conn, KeyOf(s.wrapper), s.delivery().UID, s.wrapper.UID, forLogs); err != nil {
		t.Fatal(err)
	}
	for _, w := range []*Desired{s.want(configMap("a", "2")), s.want(configMap("b", "2"))} {
		s.mustDeliver(w)
		if got := s.delivery().Spec.Requests; !rules.SameList(got, forLogs) {
			t.Errorf("after a pass the requests are %+v", got)
		}
	}
	s.wire.begin(nil)
	s.mustDeliver(s.want(configMap("b", "2")))
	if writes := s.wire.writes(); len(writes) > 0 {
		t.Errorf("the requests make a pass write: %q", writes)
	}
	s.wrapper.UID += "-again" // a wrapper of the same name takes the Delivery over
	s.mustDeliver(s.want(configMap("b", "2")))
	if d := s.delivery(); d.Spec.Wrapper.UID != s.wrapper.UID || len(d.Spec.Requests) > 0 {
		t.Errorf("the requests for an earlier wrapper are still there: %+v", d.Spec)
	}
}

func TestRequestsThatADeliveryHasLostAreWrittenAgain(t *testing.T) {
	s := newSite(t)
	p := s.engage()
	p.probed("east", member.ProbeResult{}, usable)
	key := KeyOf(s.wrapper)
	p.SetRequests(key, "east", forLogs) // before there is a Delivery
	p.SetDesired("east", s.want(configMap("a", "1")))
	s.awaitRequests(p, forLogs)
	if err := s.admin.Patch(t.Context(), s.delivery(), client.RawPatch(types.JSONPatchType, []byte(`[{"op":"remove","path":"/spec/requests"}]`))); err != nil {
		t.Fatal(err)
	}
	s.await("the requests are back", func(context.Context) bool { return rules.SameList(s.delivery().Spec.Requests, forLogs) })
	uid := s.delivery().UID
	if err := s.admin.Delete(t.Context(), s.delivery()); err != nil {
		t.Fatal(err)
	}
	s.await("the new Delivery has them", func(context.Context) bool {
		d := s.delivery()
		return d != nil && d.UID != uid && rules.SameList(d.Spec.Requests, forLogs)
	})
}

func TestNoRequestIsWrittenForAPairThatIsHeld(t *testing.T) {
	s := newSite(t)
	p := s.engage()
	p.probed("east", member.ProbeResult{}, usable)
	key := KeyOf(s.wrapper)
	p.SetDesired("east", s.want(configMap("a", "1")))
	s.await("the pair is served", func(context.Context) bool { return p.Pair(key, "east").Holds })
	suspended := s.want(configMap("a", "1"))
	suspended.Suspended = true
	p.SetDesired("east", suspended)
	s.wire.begin(nil)
	p.SetRequests(key, "east", forLogs)
	s.awaitProblem(p, v1alpha1.ReasonPairHeld)
	if writes := s.wire.writes(); len(writes) > 0 {
		t.Errorf("writes to a member that is held: %q", writes)
	}
	p.SetDesired("east", s.want(configMap("a", "1")))
	s.awaitRequests(p, forLogs)
}

func TestARequestWaitsForTheDeliveryAndForTheMember(t *testing.T) {
	s := newSite(t)
	key := KeyOf(s.wrapper)
	p := New(member.NewFleet(member.Host{}, clock.RealClock{}), deliveries.NewStore(clock.RealClock{}), clock.RealClock{}, Host{}, func(Key) {})
	p.SetRequests(key, "east", forLogs)
	s.awaitProblem(p, v1alpha1.ReasonUnreachable) // no connection

	p = s.engage()
	p.SetRequests(key, "east", forLogs)
	s.awaitProblem(p, v1alpha1.ReasonUnreachable) // no probe has found the member
	p.probed("east", member.ProbeResult{}, usable)
	var broken atomic.Bool
	broken.Store(true)
	s.wire.answer = func(req *http.Request) *http.Response {
		if broken.Load() && nameOf(req) == "POST fairlead-system/deliveries" {
			return refusal(req, apierrors.NewInternalError(errors.New("failed calling webhook")))
		}
		return nil
	}
	p.SetDesired("east", s.want(configMap("a", "1")))
	s.awaitProblem(p, v1alpha1.ReasonDeliveryNotFound)
	broken.Store(false)
	p.probed("east", usable, lostIt)
	s.awaitProblem(p, v1alpha1.ReasonUnreachable)
	p.probed("east", lostIt, usable)
	p.SetDesired("east", s.want(configMap("a", "2")))
	s.awaitRequests(p, forLogs)
}

func TestAMemberThatLacksTheFieldForRequestsIsOutdated(t *testing.T) {
	s := newSite(t)
	p := s.engage()
	p.probed("east", member.ProbeResult{}, usable)
	key := KeyOf(s.wrapper)
	p.SetDesired("east", s.want(configMap("a", "1")))
	s.await("the pair is served", func(context.Context) bool { return p.Pair(key, "east").Holds })
	withoutField(t, "properties", "spec", "properties", "requests")
	p.SetRequests(key, "east", forLogs)
	s.awaitProblem(p, v1alpha1.ReasonMemberOutdated)
	if got := s.delivery().Spec.Requests; len(got) > 0 {
		t.Errorf("%+v", got)
	}
}
