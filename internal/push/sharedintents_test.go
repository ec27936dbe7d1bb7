// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/marks"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
	"github.com/fairlead-dev/fairlead/internal/member"
	"github.com/fairlead-dev/fairlead/internal/push/intents"
)

// newcomers are several new pairs of one member.
type newcomers struct {
	*site
	pairs []*site
}

func newNewcomers(t *testing.T, n int) *newcomers {
	t.Helper()
	s := newSite(t)
	all := &newcomers{site: s}
	for i := range n {
		one := *s
		one.wrapper.Name, one.wrapper.UID = fmt.Sprintf("w%d", i), types.UID(fmt.Sprintf("%s-%d", s.wrapper.UID, i))
		all.pairs = append(all.pairs, &one)
	}
	t.Cleanup(func() { _ = client.IgnoreNotFound(s.admin.Delete(context.Background(), all.sharedList())) })
	return all
}

// manage runs a manager's pusher for the member until the returned function is called.
func (a *newcomers) manage(shares bool) (p *Pusher, stop func()) {
	a.Helper()
	p = New(member.NewFleet(member.Host{}, clock.RealClock{}), deliveries.NewStore(clock.RealClock{}), clock.RealClock{}, Host{SharesIntents: shares}, func(Key) {})
	ctx, cancel := context.WithCancel(a.Context())
	a.Cleanup(cancel)
	if err := p.Engage(ctx, "east", a.conn); err != nil {
		a.Fatal(err)
	}
	p.probed("east", member.ProbeResult{}, usable)
	return p, cancel
}

func (a *newcomers) sharedList() *v1alpha1.Delivery {
	d := &v1alpha1.Delivery{}
	d.Namespace, d.Name = v1alpha1.SystemNamespace, marks.SharedIntents
	return d
}

// entries returns the wrappers in the member's list of shared intents, each with the objects of its entry.
func (a *newcomers) entries() map[string][]string {
	a.Helper()
	d := a.sharedList()
	if err := a.admin.Get(a.Context(), client.ObjectKeyFromObject(d), d); apierrors.IsNotFound(err) {
		return nil
	} else if err != nil {
		a.Fatal(err)
	}
	specs, err := intents.Decode(d.Annotations[intents.Annotation])
	if err != nil {
		a.Fatal(err)
	}
	found := make(map[string][]string)
	for i := range specs {
		for j := range specs[i].Inventory {
			found[specs[i].Wrapper.Name] = append(found[specs[i].Wrapper.Name], specs[i].Inventory[j].Name)
		}
	}
	return found
}

// nothingIsLost checks that a Delivery or the list of shared intents lists every object of the pairs.
func (a *newcomers) nothingIsLost(when string) {
	a.Helper()
	shared := a.entries()
	for _, one := range a.pairs {
		listed := slices.Clone(shared[one.wrapper.Name])
		if d := one.delivery(); d != nil {
			for i := range d.Spec.Inventory {
				listed = append(listed, d.Spec.Inventory[i].Name)
			}
		}
		for name := range one.pushed() {
			if !slices.Contains(listed, name) {
				a.Errorf("%s: ConfigMap %s is there, and neither the Delivery nor the shared intents list it (%v)", when, name, listed)
			}
		}
	}
}

// both returns the desired state of a pair with two ConfigMaps.
func both(one *site) *Desired {
	return one.want(configMap(one.wrapper.Name+"-a", "1"), configMap(one.wrapper.Name+"-b", "1"))
}

func TestNewPairsThatWaitShareTheWriteOfTheirIntents(t *testing.T) {
	const pairs = 20
	all := newNewcomers(t, pairs)
	all.openNamespace()
	// The first pass waits for its last answer until all pairs have had a turn, so that they wait for it.
	goOn := make(chan struct{})
	var once sync.Once
	all.wire.answer = func(req *http.Request) *http.Response {
		if req.Method == http.MethodPatch && strings.Contains(req.URL.Path, "/deliveries/fed.") {
			once.Do(func() { <-goOn })
		}
		return nil
	}
	p, stop := all.manage(true)
	defer stop()
	q := p.queues["east"]
	clock := clocktesting.NewFakeClock(time.Now()) // on a slow machine too, the pairs wait until the first pass has ended
	q.shares.clock = clock
	for _, one := range all.pairs {
		p.SetDesired("east", one.want(configMap(one.wrapper.Name, "1")))
	}
	all.await("all but one pair wait", func(context.Context) bool {
		q.shares.mu.Lock()
		defer q.shares.mu.Unlock()
		waiting := 0
		for _, one := range all.pairs {
			if q.shares.turns.Prepared(KeyOf(one.wrapper)) != nil {
				waiting++
			}
		}
		return waiting == pairs-1
	})
	close(goOn)
	clock.Step(intents.BatchWait) // so many pairs are a burst, in which the write waits for more
	for _, one := range all.pairs {
		all.await(one.wrapper.Name+" is served", func(context.Context) bool { return p.Pair(KeyOf(one.wrapper), "east").Holds })
	}
	counts := make(map[string]int)
	for _, r := range all.wire.writes() {
		switch {
		case strings.HasPrefix(r, "PATCH configmaps/"):
			r = "PATCH configmaps"
		case strings.HasPrefix(r, "PATCH deliveries/fed."):
			r = "PATCH deliveries"
		}
		counts[r]++
	}
	delete(counts, "DELETE deliveries/intents") // comes later
	want := map[string]int{"POST fairlead-system/deliveries": pairs + 1, "PATCH configmaps": pairs, "PATCH deliveries": 1}
	if diff := cmp.Diff(want, counts); diff != "" {
		t.Errorf("writes for %d pairs (-want +got):\n%s", pairs, diff)
	}
	all.await("the list is deleted", func(context.Context) bool {
		clock.Step(tidyAfter)
		return all.entries() == nil
	})
}

func TestALonePairWritesItsOwnIntent(t *testing.T) {
	all := newNewcomers(t, 1)
	p, stop := all.manage(true)
	defer stop()
	one := all.pairs[0]
	p.SetDesired("east", one.want(configMap("a", "1")))
	all.await("the pair is served", func(context.Context) bool { return p.Pair(KeyOf(one.wrapper), "east").Holds })
	want := []string{"POST v1/namespaces", "POST fairlead-system/deliveries", "PATCH configmaps/a", "PATCH deliveries/" + one.delivery().Name}
	if diff := cmp.Diff(want, all.wire.writes()); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
}

// The manager is interrupted at each request while new pairs share their intents. Before the next manager comes, the
// wrappers may change.
func TestNothingIsLostWhenTheManagerIsInterruptedWhilePairsShareTheirIntents(t *testing.T) {
	// Three pairs, each with two objects: the Delivery, the objects and the record of the first; the list; the objects and the Delivery
	// of each of the two others.
	const writes = 4 + 1 + 2*3
	for scene, after := range map[string]func(*site) *Desired{
		"the wrappers stay": both,
		"the wrappers drop, change and add an object": func(one *site) *Desired {
			return one.want(configMap(one.wrapper.Name+"-a", "2"), configMap(one.wrapper.Name+"-c", "1"))
		},
		"the wrappers leave": func(one *site) *Desired { return one.leave() },
	} {
		t.Run(scene, func(t *testing.T) {
			for n := 1; n <= writes; n++ {
				for how, cut := range cuts(n) {
					died := strings.HasPrefix(how, "the manager dies")
					if !died && scene != "the wrappers stay" {
						continue // no scene follows a manager that goes on
					}
					all := newNewcomers(t, 3)
					all.openNamespace()
					isCut := make(chan struct{})
					var once sync.Once
					sent := 0
					all.wire.begin(func(i int, req *http.Request) fate {
						if req.Method == http.MethodGet {
							if i > n && sent >= n && died {
								return lost
							}
							return through
						}
						sent++ // the wire calls this function for one request at a time
						is := cut(sent, req)
						if is != through {
							once.Do(func() { close(isCut) })
						}
						return is
					})
					p, stop := all.manage(true)
					for _, one := range all.pairs {
						p.SetDesired("east", both(one))
					}
					served := func(context.Context) bool {
						return !slices.ContainsFunc(all.pairs, func(one *site) bool { return !p.Pair(KeyOf(one.wrapper), "east").Holds })
					}
					all.await("the request is cut, or all pairs are served", func(ctx context.Context) bool {
						select {
						case <-isCut:
							return true
						default:
							return served(ctx)
						}
					})
					when := fmt.Sprintf("write %d, %s", n, how)
					if !died {
						all.await(when+": all pairs are served", func(ctx context.Context) bool {
							p.probed("east", member.ProbeResult{}, usable) // the lost request has opened the circuit breaker
							return served(ctx)
						})
						if sent := len(all.wire.writes()); sent < writes {
							t.Errorf("%s: the test expects %d writes, and there were %d", when, writes, sent)
						}
					}
					stop()
					all.nothingIsLost(when)

					all.connect(config)
					for _, one := range all.pairs {
						one.wire, one.conn = all.wire, all.conn
					}
					p, stop = all.manage(n%2 == 0)
					for _, one := range all.pairs {
						p.SetDesired("east", after(one))
					}
					for _, one := range all.pairs {
						all.await(when+": "+one.wrapper.Name+" is as it is to be", func(context.Context) bool {
							pair := p.Pair(KeyOf(one.wrapper), "east")
							return pair.Holds || pair.HasLeft()
						})
					}
					stop()
					for _, one := range all.pairs {
						var want []string
						if w := after(one); !w.Leaving() {
							for _, o := range objectsOf(t, w) {
								want = append(want, o.Name)
							}
						} else if one.delivery() != nil {
							t.Errorf("%s: the Delivery of %s is left", when, one.wrapper.Name)
						}
						if diff := cmp.Diff(want, slices.Sorted(maps.Keys(one.pushed()))); diff != "" {
							t.Errorf("%s: ConfigMaps of %s (-want +got):\n%s", when, one.wrapper.Name, diff)
						}
					}
					if err := client.IgnoreNotFound(all.admin.Delete(t.Context(), all.sharedList())); err != nil {
						t.Fatal(err)
					}
				}
			}
		})
	}
}

func TestAMemberThatRefusesTheListGetsADeliveryForEachPair(t *testing.T) {
	all := newNewcomers(t, 8)
	all.openNamespace()
	all.wire.answer = func(req *http.Request) *http.Response {
		if nameOf(req) == "POST fairlead-system/deliveries" && req.ContentLength > 0 {
			body, _ := req.GetBody()
			buffer := make([]byte, 4096)
			read, _ := body.Read(buffer)
			if strings.Contains(string(buffer[:read]), `"name":"intents"`) {
				return refusal(req, apierrors.NewForbidden(schema.GroupResource{Resource: "deliveries"}, "intents", nil))
			}
		}
		return nil
	}
	p, stop := all.manage(true)
	defer stop()
	for _, one := range all.pairs {
		p.SetDesired("east", both(one))
	}
	for _, one := range all.pairs {
		all.await(one.wrapper.Name+" is served", func(context.Context) bool { return p.Pair(KeyOf(one.wrapper), "east").Holds })
	}
	if entries := all.entries(); entries != nil {
		t.Errorf("entries: %v", entries)
	}
}

// shareByHand creates the list as another manager would, with an entry of this pair.
func (a *newcomers) shareByHand(text string) {
	a.Helper()
	d := a.sharedList()
	d.Annotations = map[string]string{intents.Annotation: text}
	d.Spec = v1alpha1.DeliverySpec{Wrapper: v1alpha1.WrapperIdentity{Kind: v1alpha1.KindClusterFederated, Name: marks.SharedIntents, UID: "another", Generation: 1}}
	if err := a.admin.Create(a.Context(), d); err != nil {
		a.Fatal(err)
	}
}

func TestAListThatCannotBeReadStaysAndStopsNothing(t *testing.T) {
	all := newNewcomers(t, 3)
	all.openNamespace()
	all.shareByHand(`[{"tomorrow": 1}]`)
	p, stop := all.manage(true)
	defer stop()
	for _, one := range all.pairs {
		p.SetDesired("east", both(one))
	}
	for _, one := range all.pairs {
		all.await(one.wrapper.Name+" is served", func(context.Context) bool { return p.Pair(KeyOf(one.wrapper), "east").Holds })
	}
	d := all.sharedList()
	if err := all.admin.Get(t.Context(), client.ObjectKeyFromObject(d), d); err != nil || d.Annotations[intents.Annotation] != `[{"tomorrow": 1}]` {
		t.Errorf("the list was changed: %v %v", err, d.Annotations)
	}
}

// A write of an earlier manager may come late, or a backup of the member brings a list back.
func TestAListThatAppearsWhileTheManagerRunsIsDelivered(t *testing.T) {
	all := newNewcomers(t, 1)
	all.openNamespace()
	p, stop := all.manage(false)
	defer stop()
	one := all.pairs[0]
	all.await("the Deliveries are listed", func(context.Context) bool { return p.Pair(KeyOf(one.wrapper), "east").Listed })
	cut := both(one)
	text, err := intents.Encode([]v1alpha1.DeliverySpec{{Wrapper: cut.Wrapper, Target: &v1alpha1.DeliveryTarget{Revision: cut.Revision, Rendering: cut.Digest()},
		Inventory: []v1alpha1.InventoryEntry{{Kind: "ConfigMap", Resource: "configmaps", Name: "a", State: v1alpha1.EntryPending, Rendering: "sha256:a"}}}})
	if err != nil {
		t.Fatal(err)
	}
	all.shareByHand(text)
	all.await("the entry has become a Delivery", func(context.Context) bool { return one.delivery() != nil && all.entries() == nil })
	if diff := cmp.Diff([]string{"ConfigMap a Pending"}, one.inventory()); diff != "" {
		t.Error(diff)
	}
}

// The entry of a pair must not outlive the next pass of the pair: it would bring back what that pass has dropped.
func TestTheListHasNoEntryOfAPairThatIsPushedAgain(t *testing.T) {
	all := newNewcomers(t, 6)
	all.openNamespace()
	p, stop := all.manage(true)
	defer stop()
	p.queues["east"].shares.clock = clocktesting.NewFakeClock(time.Now()) // the list is not deleted for its age
	for _, one := range all.pairs {
		p.SetDesired("east", both(one))
	}
	for _, one := range all.pairs {
		all.await(one.wrapper.Name+" is served", func(context.Context) bool { return p.Pair(KeyOf(one.wrapper), "east").Holds })
	}
	if len(all.entries()) == 0 {
		t.Fatal("the pairs did not share their intents")
	}
	for _, one := range all.pairs {
		p.SetDesired("east", one.want(configMap(one.wrapper.Name+"-b", "1")))
	}
	for _, one := range all.pairs {
		all.await(one.wrapper.Name+" is served again", func(context.Context) bool { return p.Pair(KeyOf(one.wrapper), "east").Holds })
		if entry, there := all.entries()[one.wrapper.Name]; there {
			t.Errorf("the list has %v of %s", entry, one.wrapper.Name)
		}
	}
}

// Pairs whose intents are in the list leave, or are suspended, before their turn. Their entries must not stay, and no pair may wait for
// them.
func TestAPairThatLeavesAfterItsIntentWasWrittenLeavesNoEntry(t *testing.T) {
	all := newNewcomers(t, 4)
	all.openNamespace()
	p, stop := all.manage(true)
	defer stop()
	var once sync.Once
	all.wire.begin(func(_ int, req *http.Request) fate {
		if req.Method == http.MethodPatch && strings.Contains(req.URL.Path, "/deliveries/fed.") {
			once.Do(func() { // the record of the pair that goes alone: the others wait for it, or are about to
				for _, one := range all.pairs[1:] {
					p.SetDesired("east", one.leave())
				}
			})
		}
		return through
	})
	for _, one := range all.pairs {
		p.SetDesired("east", both(one))
	}
	for _, one := range all.pairs[1:] {
		all.await(one.wrapper.Name+" has left", func(context.Context) bool { return p.Pair(KeyOf(one.wrapper), "east").HasLeft() })
		if one.delivery() != nil || len(one.pushed()) > 0 {
			t.Errorf("%s has left objects or its Delivery", one.wrapper.Name)
		}
	}
	all.await("no pair waits any more", func(context.Context) bool {
		s := p.queues["east"].shares
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.turns.IsIdle()
	})
	all.await("the list is deleted", func(context.Context) bool { return all.entries() == nil })
	for _, one := range all.pairs[1:] {
		if one.delivery() != nil {
			t.Errorf("%s has a Delivery again", one.wrapper.Name)
		}
	}
}

// Somebody deletes the list, or a backup without it is restored, while a pair waits for its turn.
func TestAPairWhoseIntentIsGoneWritesItsOwn(t *testing.T) {
	all := newNewcomers(t, 4)
	all.openNamespace()
	var once sync.Once
	lost := make(map[string]bool)
	var mu sync.Mutex
	all.wire.begin(func(_ int, req *http.Request) fate {
		if req.Method == http.MethodPatch && strings.Contains(req.URL.Path, "/configmaps/") {
			if entries := all.entries(); len(entries) > 0 {
				once.Do(func() {
					if err := all.admin.Delete(t.Context(), all.sharedList()); err != nil {
						t.Error(err)
					}
					for name := range entries {
						mu.Lock()
						lost[name] = true
						mu.Unlock()
					}
				})
			}
		}
		return through
	})
	p, stop := all.manage(true)
	defer stop()
	p.queues["east"].shares.clock = clocktesting.NewFakeClock(time.Now()) // on a slow machine too, the pairs share their intents
	for _, one := range all.pairs {
		p.SetDesired("east", both(one))
	}
	for _, one := range all.pairs {
		all.await(one.wrapper.Name+" is served", func(context.Context) bool { return p.Pair(KeyOf(one.wrapper), "east").Holds })
	}
	mu.Lock()
	defer mu.Unlock()
	if len(lost) == 0 {
		t.Fatal("no list was deleted")
	}
	all.nothingIsLost("after the list was deleted")
}
