// SPDX-License-Identifier: Apache-2.0

package federated

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/placement"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
)

// restMembers is the number of members in the tests below. maxAtRest is the largest number of bytes that one pair may
// take in the host's memory.
const (
	restMembers = 1000
	maxAtRest   = 512
)

// heap returns how many bytes of the heap are in use.
func heap() int64 {
	for range 3 { // the garbage collector frees objects with weak pointers or finalizers one cycle later
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc) //nolint:gosec // the heap is far smaller than the largest int64
}

// atRest returns how many bytes of memory each member takes after a reconcile of a wrapper with one object of size
// bytes. override is the field path of the member from which an override takes a value, so that each member has another
// rendering. With "", all members have the same rendering.
func atRest(t testing.TB, size int, override string) int64 {
	t.Helper()
	w := rendered("u", fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"filling":%q}}`, strings.Repeat("x", size)), 1)
	if override != "" {
		w.Spec.Overrides = []v1alpha1.Override{{Target: v1alpha1.OverrideTarget{Kind: "ConfigMap"},
			Patch: []v1alpha1.PatchOperation{{Op: "add", Path: "/data/member", ValueFrom: &v1alpha1.ValueSource{FieldPath: override}}}}}
	}
	members := make(map[string]*v1alpha1.MemberCluster, restMembers)
	names := make([]string, 0, restMembers)
	for i := range restMembers {
		name := fmt.Sprintf("member-%04d", i)
		members[name] = &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"cloud": "aws"}}}
		names = append(names, name)
	}
	r, _ := host(t, nil, w)
	before := heap()
	func() {
		p := at(r, w, now)
		p.cached, p.members, p.decision = w, members, placement.Decision{Status: v1alpha1.PlacementStatus{Clusters: names}}
		if err := p.render(t.Context()); err != nil || p.invalid != "" || len(p.refusals) > 0 {
			t.Fatal(err, p.invalid, p.refusals)
		}
		if err := p.enqueue(t.Context()); err != nil {
			t.Fatal(err)
		}
	}()
	left := heap() - before // w is not counted, because the manager's cache has it anyway
	if n := len(r.pusher.DesiredMembers(web)); n != restMembers {
		t.Fatalf("the pusher has %d desired states", n)
	}
	runtime.KeepAlive(r)
	runtime.KeepAlive(members)
	return left / restMembers
}

var fleets = map[string]string{"members that are told apart": "metadata.name", "equal members": ""}

// The pusher must not keep the rendering of each member. When it did, a wrapper with objects of 512 KiB that differed
// on each of 1,000 members took 508 MiB of memory.
func TestAPairAtRestTakesLittleHoweverLargeItsObjectsAre(t *testing.T) {
	atRest(t, 1, "") // the first run allocates what a process needs only once
	for name, override := range fleets {
		for _, size := range []int{1 << 10, 512 << 10} {
			t.Run(fmt.Sprintf("%s, %d KiB", name, size>>10), func(t *testing.T) {
				if got := atRest(t, size, override); got > maxAtRest {
					t.Errorf("the host keeps %d bytes for a pair, want at most %d", got, maxAtRest)
				}
			})
		}
	}
}

const (
	// restWrappers is how many wrappers the test below makes, each on three members. maxWrapperAtRest is the largest
	// number of bytes that one of them may take.
	restWrappers     = 500
	maxWrapperAtRest = 9 << 10
)

// wrapperAtRest returns how many bytes of memory one wrapper takes on the host when it is Ready on three members: its
// copy in the cache, the state of the loop and of the pusher, and the summaries of three Deliveries. The wrapper is
// like those of workload W1 of the benchmark.
func wrapperAtRest(t testing.TB) int64 {
	t.Helper()
	template, err := os.ReadFile("testdata/ready.json")
	if err != nil {
		t.Fatal(err)
	}
	members := make(map[string]*v1alpha1.MemberCluster)
	for _, name := range []string{"member-1", "member-2", "member-3"} {
		members[name] = &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
	}
	r, _ := host(t, nil)
	before := heap()
	var cached []*v1alpha1.Federated
	summaries := make(map[string]map[string]*deliveries.Summary)
	for i := range restWrappers {
		w := decoded[v1alpha1.Federated](t, template, i)
		cached = append(cached, w)
		p := &reconciliation{Reconciler: r, key: keyOf(w), cached: w, wrapper: r.writes.newest(w.DeepCopy()), now: now, members: members,
			revision: w.Status.UpdateRevision, decision: placement.Decision{Status: w.Status.Placement}}
		for _, step := range []func(context.Context) error{p.render, p.enqueue} {
			if err := step(t.Context()); err != nil || p.invalid != "" {
				t.Fatal(err, p.invalid)
			}
		}
		for name, want := range p.desired {
			if summaries[name] == nil {
				summaries[name] = make(map[string]*deliveries.Summary)
			}
			d := &v1alpha1.Delivery{}
			d.UID = types.UID(fmt.Sprintf("%036d", i))
			d.Spec.Wrapper = v1alpha1.Identity(w)
			d.Spec.Target = &v1alpha1.DeliveryTarget{Revision: strings.Clone(p.revision), Rendering: strings.Clone(want.Rendering.Digest())}
			d.Spec.Inventory = []v1alpha1.InventoryEntry{{Resource: "configmaps", Kind: "ConfigMap", Name: "bench", State: v1alpha1.EntryApplied,
				Rendering: d.Spec.Target.Rendering, UID: d.UID, Fields: "f"}}
			d.Status.ObservedRendering = strings.Clone(d.Spec.Target.Rendering)
			summaries[name][p.key.Delivery()] = deliveries.Summarise(decoded[v1alpha1.Delivery](t, encoded(t, d), i))
		}
	}
	left := heap() - before
	runtime.KeepAlive(r)
	runtime.KeepAlive(cached)
	runtime.KeepAlive(summaries)
	return left / restWrappers
}

// decoded returns an object that shares no strings with other objects, as if the API server had sent it.
func decoded[T any](t testing.TB, data []byte, i int) *T {
	t.Helper()
	text := strings.NewReplacer("NAME", fmt.Sprintf("bench-%04d", i), "UID", fmt.Sprintf("%036d", i), "PAYLOAD", strings.Repeat("x", 1<<10)).Replace(string(data))
	obj := new(T)
	if err := json.Unmarshal([]byte(text), obj); err != nil {
		t.Fatal(err)
	}
	return obj
}

func encoded(t testing.TB, obj any) []byte {
	t.Helper()
	data, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// The host must not keep a second copy of the wrapper, nor its renderings. When it did, a wrapper took 52 KB of memory.
func TestAWrapperAtRestTakesLittleBesideItsCopyInTheCache(t *testing.T) {
	wrapperAtRest(t) // the first run allocates what a process needs only once
	if got := wrapperAtRest(t); got > maxWrapperAtRest {
		t.Errorf("the host keeps %d bytes for a wrapper, want at most %d", got, maxWrapperAtRest)
	}
}

func BenchmarkWrapperAtRest(b *testing.B) {
	var got int64
	for b.Loop() {
		got = wrapperAtRest(b)
	}
	b.ReportMetric(float64(got), "B/wrapper")
}

func BenchmarkPairAtRest(b *testing.B) {
	for name, override := range fleets {
		b.Run(name, func(b *testing.B) {
			var got int64
			for b.Loop() {
				got = atRest(b, 64<<10, override)
			}
			b.ReportMetric(float64(got), "B/pair")
		})
	}
}
