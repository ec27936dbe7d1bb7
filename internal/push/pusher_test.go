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

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
	"github.com/fairlead-dev/fairlead/internal/inflight"
	"github.com/fairlead-dev/fairlead/internal/member"
)

// engage runs a member queue for the site's member, as a manager does after its start.
func (s *site) engage() *Pusher {
	s.Helper()
	p := New(member.NewFleet(member.Host{}, clock.RealClock{}), deliveries.NewStore(clock.RealClock{}), clock.RealClock{}, Host{}, func(Key) {})
	ctx, cancel := context.WithCancel(s.Context())
	s.Cleanup(cancel)
	if err := p.Engage(ctx, "east", s.conn); err != nil {
		s.Fatal(err)
	}
	return p
}

func TestAMemberQueueServesItsPairsAndThenSendsNothing(t *testing.T) {
	s := newSite(t)
	other := *s
	other.wrapper.Name, other.wrapper.UID = "other", s.wrapper.UID+"-other"

	p := s.engage()
	p.SetDesired("east", s.want(configMap("a", "1")))
	p.SetDesired("east", other.want(configMap("b", "1")))
	s.await("the Deliveries are listed", func(context.Context) bool { return p.Pair(KeyOf(s.wrapper), "east").Listed })
	if writes := s.wire.writes(); len(writes) > 0 {
		t.Errorf("writes before a probe has found the member: %v", writes)
	}
	p.probed("east", member.ProbeResult{}, usable)
	s.await("both pairs are served", func(context.Context) bool {
		return p.Pair(KeyOf(s.wrapper), "east").Holds && p.Pair(KeyOf(other.wrapper), "east").Holds
	})

	// A restarted manager lists the Deliveries once and writes nothing.
	s.connect(config)
	p = s.engage()
	p.SetDesired("east", s.want(configMap("a", "1")))
	p.SetDesired("east", other.want(configMap("b", "1")))
	p.probed("east", member.ProbeResult{}, usable)
	s.await("both pairs are known to be served", func(context.Context) bool {
		return p.Pair(KeyOf(s.wrapper), "east").Holds && p.Pair(KeyOf(other.wrapper), "east").Holds
	})
	p.queues["east"].queue.ShutDownWithDrain()
	var asked []string
	for _, r := range s.wire.all() {
		if !strings.HasSuffix(r, "/deliveries") {
			asked = append(asked, r)
		}
	}
	if diff := cmp.Diff([]string(nil), asked); diff != "" {
		t.Errorf("a restart reads more than the Deliveries (-want +got):\n%s", diff)
	}
}

// The member answers 500 for one object, for example because the webhook for that object is broken.
func TestAPairThatTheMemberAnswersWith500DoesNotDelayOthers(t *testing.T) {
	s := newSite(t)
	other := *s
	other.wrapper.Name, other.wrapper.UID = "other", s.wrapper.UID+"-other"
	var tries atomic.Int64
	s.wire.answer = func(req *http.Request) *http.Response {
		if nameOf(req) != "PATCH configmaps/a" {
			return nil
		}
		tries.Add(1)
		return refusal(req, apierrors.NewInternalError(errors.New("failed calling webhook")))
	}
	p := s.engage()
	p.probed("east", member.ProbeResult{}, usable)
	p.SetDesired("east", s.want(configMap("a", "1")))
	s.await("the pair was tried", func(context.Context) bool { return tries.Load() > 0 })
	p.SetDesired("east", other.want(configMap("b", "1")))
	s.await("the other pair is served", func(context.Context) bool { return p.Pair(KeyOf(other.wrapper), "east").Holds })
	s.await("the outcome is reported", func(context.Context) bool {
		out := p.Pair(KeyOf(s.wrapper), "east").Outcome
		return out != nil && out.Reason == v1alpha1.ReasonPushError
	})
	if p.queues["east"].breaker.isOpen() {
		t.Error("the breaker is open")
	}
	if n := tries.Load(); n > 2 {
		t.Errorf("the pair was tried %d times at once", n)
	}
}

func TestTheManagerWritesADeletedDeliveryAgain(t *testing.T) {
	s := newSite(t)
	p := s.engage()
	p.probed("east", member.ProbeResult{}, usable)
	p.SetDesired("east", s.want(configMap("a", "1")))
	key := KeyOf(s.wrapper)
	s.await("the pair is served", func(context.Context) bool { return p.Pair(key, "east").Holds })
	uid := s.delivery().UID
	if err := s.admin.Delete(t.Context(), s.delivery()); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	s.await("the Delivery exists again", func(context.Context) bool {
		pair := p.Pair(key, "east")
		return pair.Holds && pair.Summary.UID != uid
	})
	p.SetDesired("east", s.leave())
	s.await("the wrapper has left", func(context.Context) bool {
		out := p.Pair(key, "east").Outcome
		return out != nil && out.Done
	})
	if s.configMap("a") != nil || s.delivery() != nil {
		t.Error("something is left")
	}
}

func TestThePassesOfAMemberRunUpToItsLimit(t *testing.T) {
	const pairs = 3 * inflight.First
	s := newSite(t)
	var underWay atomic.Int64
	goOn := make(chan struct{})
	s.wire.answer = func(req *http.Request) *http.Response {
		if nameOf(req) == "POST fairlead-system/deliveries" { // the first request of each pass here
			underWay.Add(1)
			<-goOn
		}
		return nil
	}
	p := s.engage()
	p.probed("east", member.ProbeResult{}, usable)
	var keys []Key
	for i := range pairs {
		one := *s
		one.wrapper.Name, one.wrapper.UID = fmt.Sprintf("w%d", i), types.UID(fmt.Sprintf("%s-%d", s.wrapper.UID, i))
		keys = append(keys, KeyOf(one.wrapper))
		p.SetDesired("east", one.want(configMap(one.wrapper.Name, "1")))
	}
	s.await("the limit is reached, and the other pairs wait", func(context.Context) bool {
		const handedOut = inflight.First + 1 // one more pair than may have a pass at first: it has left the queue and waits for the limit
		return underWay.Load() == inflight.First && p.queues["east"].queue.Len() == pairs-handedOut
	})
	close(goOn)
	s.await("all pairs are served", func(context.Context) bool {
		return !slices.ContainsFunc(keys, func(key Key) bool { return !p.Pair(key, "east").Holds })
	})
	p.queues["east"].queue.ShutDownWithDrain()
	limit := s.conn.Limit()
	for range limit.Places() {
		s.await("the limit is free again", func(ctx context.Context) bool { return limit.Enter(ctx) == nil })
	}
}

func TestAMemberQueueThatEndsWhileAPairWaitsLeavesNothingRunning(t *testing.T) {
	b := newBench(t)
	ctx, cancel := context.WithCancel(t.Context())
	for range b.conn.Limit().Places() {
		if err := b.conn.Limit().Enter(ctx); err != nil {
			t.Fatal(err)
		}
	}
	b.queue.Add(web)
	ended := make(chan struct{})
	go func() { b.run(ctx); close(ended) }()
	for b.queue.Len() > 0 {
		// The queue has not handed out the pair yet.
	}
	cancel()
	<-ended
	if !b.queue.ShuttingDown() {
		t.Error("the queue still runs")
	}
}
