// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	rules "github.com/fairlead-dev/fairlead/federate/evidencerequest"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
	"github.com/fairlead-dev/fairlead/internal/member"
	"github.com/fairlead-dev/fairlead/internal/push/apply"
	"github.com/fairlead-dev/fairlead/internal/push/plan"
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
		isWritten, problem := p.Requests().Of(KeyOf(s.wrapper), "east")
		d := s.delivery()
		return problem == nil && (isWritten || len(want) == 0) && d != nil && rules.SameList(d.Spec.Requests, want)
	})
}

// awaitProblem waits until the requests have a problem with this reason.
func (s *site) awaitProblem(p *Pusher, reason string) {
	s.Helper()
	last := ""
	s.await("want "+reason, func(context.Context) bool {
		_, problem := p.Requests().Of(KeyOf(s.wrapper), "east")
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
	p.Requests().OnChange(func(k Key, memberName string, d *v1alpha1.Delivery) {
		if k == key && memberName == "east" && d != nil {
			told.Add(1)
		}
	})
	p.SetDesired("east", s.want(configMap("a", "1")))
	s.await("the pair is served", func(context.Context) bool { return p.Pair(key, "east").Holds })
	before := s.delivery()

	p.Requests().Set(key, "east", forLogs)
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
	p.Requests().Set(key, "east", slices.Clone(forLogs))
	s.await("the queue is empty", func(context.Context) bool { return p.queues["east"].queue.Len() == 0 })
	if writes := s.wire.writes(); len(writes) > 0 {
		t.Errorf("equal requests cost %q", writes)
	}

	// Every pass keeps the requests: whether it reads the Delivery or uses the summary in memory, and whatever it writes.
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

	p.Requests().Set(key, "east", forEvents)
	s.awaitRequests(p, forEvents)
	p.Requests().Set(key, "east", nil)
	s.awaitRequests(p, nil)
	s.await("nothing is remembered", func(context.Context) bool {
		_, isRemembered := p.requests.get(plan.Pair{Member: "east", Key: key})
		return !isRemembered
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
	p.Requests().Set(key, "east", forLogs) // before there is a Delivery
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
	p.Requests().Set(key, "east", forLogs)
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
	p.Requests().Set(key, "east", forLogs)
	s.awaitProblem(p, v1alpha1.ReasonUnreachable) // no connection

	p = s.engage()
	p.Requests().Set(key, "east", forLogs)
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
	p.Requests().Set(key, "east", forLogs)
	s.awaitProblem(p, v1alpha1.ReasonMemberOutdated)
	if got := s.delivery().Spec.Requests; len(got) > 0 {
		t.Errorf("%+v", got)
	}
}

func TestRequestsThatCouldNotBeWrittenAreTriedAgain(t *testing.T) {
	s := newSite(t)
	var failure atomic.Pointer[apierrors.StatusError]
	s.wire.answer = func(req *http.Request) *http.Response {
		if is := failure.Load(); is != nil && req.Method == http.MethodPatch && strings.Contains(req.URL.Path, "/deliveries/") {
			return refusal(req, is)
		}
		return nil
	}
	p := s.engage()
	p.probed("east", member.ProbeResult{}, usable)
	key := KeyOf(s.wrapper)
	p.SetDesired("east", s.want(configMap("a", "1")))
	s.await("the pair is served", func(context.Context) bool { return p.Pair(key, "east").Holds })
	var told atomic.Int64
	p.Requests().OnChange(func(_ Key, _ string, d *v1alpha1.Delivery) {
		if d == nil {
			told.Add(1)
		}
	})
	failure.Store(apierrors.NewForbidden(schema.GroupResource{Resource: "deliveries"}, "web", errors.New("no right")))
	p.Requests().Set(key, "east", forLogs)
	s.awaitProblem(p, v1alpha1.ReasonPushError)
	s.await("the listener knows", func(context.Context) bool { return told.Load() == 1 })
	failure.Store(apierrors.NewServiceUnavailable("overload"))
	p.Requests().Set(key, "east", forEvents)
	s.awaitProblem(p, v1alpha1.ReasonUnreachable) // the circuit breaker is open
	failure.Store(nil)
	p.probed("east", lostIt, usable)
	s.awaitRequests(p, forEvents)
}

func TestWhichRequestsQueueAPair(t *testing.T) {
	b := newBench(t)
	for _, step := range []struct {
		requests []v1alpha1.EvidenceRequest
		queued   int
	}{{forLogs, 1}, {slices.Clone(forLogs), 0}, {forEvents, 1}, {nil, 1}, {nil, 0}} {
		b.pusher.Requests().Set(web, "west", step.requests) // not connected
		b.pusher.Requests().Set(web, "east", step.requests)
		if got := b.queue.Len(); got != step.queued {
			t.Fatalf("%+v: %d pairs are queued, want %d", step.requests, got, step.queued)
		}
		for b.queue.Len() > 0 {
			key, _ := b.queue.Get()
			b.queue.Done(key)
		}
	}
}

func TestTheListenerOfRequestsLearnsThatAMemberAnswersNoMore(t *testing.T) {
	b := newBench(t)
	p := b.pusher
	var told []string
	p.Requests().OnChange(func(key Key, memberName string, d *v1alpha1.Delivery) {
		if told = append(told, key.Name+" "+memberName); d != nil {
			t.Errorf("a Delivery of a member that does not answer: %v", d)
		}
	})
	p.Requests().Set(web, "east", forLogs)
	p.Requests().Set(web, "west", forLogs)
	p.probed("east", usable, usable)
	p.probed("east", usable, lostIt)
	if diff := cmp.Diff([]string{web.Name + " east"}, told); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	p.RemoveDesired(web, "east")
	if _, ok := p.requests.get(plan.Pair{Member: "east", Key: web}); !ok {
		t.Error("the end of the desired state took requests back")
	}
	p.Requests().Set(web, "east", nil)
	p.RemoveDesired(web, "east")
	if _, ok := p.requests.get(plan.Pair{Member: "east", Key: web}); ok {
		t.Error("a pair without requests is remembered")
	}
}

func TestNoRequestIsWrittenForAPairThatTheLastPassFoundHeld(t *testing.T) {
	b := newBench(t)
	b.pusher.SetDesired("east", wish("1"))
	b.there(4, "0", true)
	b.ended(b.pusher.DesiredState(web, "east"), 4, plan.Outcome{State: v1alpha1.StateHeld, Reason: v1alpha1.ReasonHostBehindMember})
	b.pusher.Requests().Set(web, "east", forLogs)
	b.writeRequests(t.Context(), web)
	_, problem := b.pusher.Requests().Of(web, "east")
	if problem == nil || problem.Reason != v1alpha1.ReasonPairHeld || !strings.Contains(problem.Message, v1alpha1.ReasonHostBehindMember) {
		t.Errorf("%+v", problem)
	}
}

func TestWhatFollowsFromTheErrorOfAWriteOfRequests(t *testing.T) {
	deliveriesOf := schema.GroupResource{Group: v1alpha1.GroupVersion.Group, Resource: "deliveries"}
	pushError := func(message string) requestFailure {
		return requestFailure{again: requestsAgain, problem: &rules.Problem{Reason: v1alpha1.ReasonPushError, Message: message}}
	}
	for name, test := range map[string]struct {
		err  error
		want requestFailure
	}{
		"the CRD lacks the field": {apierrors.NewBadRequest(`strict decoding error: unknown field "spec.requests"`), requestFailure{again: requestsAgain,
			problem: &rules.Problem{Reason: v1alpha1.ReasonMemberOutdated, Message: "the member's CRD of Deliveries is older than the host's and lacks field spec.requests: " +
				"run `hostctl join east --cluster-kubeconfig FILE`"}}},
		"the Delivery is gone":                    {apierrors.NewNotFound(deliveriesOf, "web"), requestFailure{again: requestsEvery}},
		"the Delivery is another":                 {apierrors.NewInvalid(schema.GroupKind{}, "web", nil), requestFailure{again: requestsEvery}},
		"another write was first":                 {apierrors.NewConflict(deliveriesOf, "web", errors.New("changed")), requestFailure{again: requestsEvery}},
		"the member does not answer":              {errors.New("connection refused"), requestFailure{again: requestsEvery, concernsMember: true}},
		"the member has too many requests":        {apierrors.NewTooManyRequests("later", 1), requestFailure{again: requestsEvery, concernsMember: true}},
		"the member refuses":                      {apierrors.NewForbidden(deliveriesOf, "web", errors.New("no right")), pushError(`writing: deliveries.federation.fairlead.dev "web" is forbidden: no right`)},
		"the manager itself holds the write back": {&member.HeldBackError{Why: errors.New("no lease")}, pushError("writing: no lease")},
		"the message is long":                     {&member.HeldBackError{Why: errors.New(strings.Repeat("x", 2*maxRequestProblem))}, pushError("writing: " + strings.Repeat("x", maxRequestProblem-len("writing: ")-len("…")) + "…")},
	} {
		t.Run(name, func(t *testing.T) {
			got := requestFailureOf("east", fmt.Errorf("writing: %w", test.err))
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(requestFailure{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAPairWithoutRequestsAndWithoutADeliveryIsForgotten(t *testing.T) {
	s := newSite(t)
	p := s.engage()
	p.probed("east", member.ProbeResult{}, usable)
	pair := plan.Pair{Member: "east", Key: KeyOf(s.wrapper)}
	s.await("the Deliveries are listed", func(context.Context) bool { return p.Pair(pair.Key, "east").Listed })
	p.Requests().Set(pair.Key, "east", forLogs)
	p.Requests().Set(pair.Key, "east", nil) // the wrapper has no desired state on the member any more
	s.await("the pair is forgotten", func(context.Context) bool {
		_, ok := p.requests.get(pair)
		return !ok
	})
}
