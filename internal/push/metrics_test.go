// SPDX-License-Identifier: Apache-2.0

package push

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/member"
	"github.com/fairlead-dev/fairlead/internal/push/apply"
	"github.com/fairlead-dev/fairlead/internal/push/plan"
)

// valuesOf returns the values of this package's metrics for a member that are not 0, by name and labels. Of a histogram
// it returns the count.
func valuesOf(t *testing.T, memberName string) map[string]float64 {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]float64{}
	for _, family := range families {
		if !strings.HasPrefix(family.GetName(), "fairlead_") {
			continue
		}
		for _, m := range family.GetMetric() {
			name, of := family.GetName(), ""
			for _, label := range m.GetLabel() {
				if label.GetName() == "member" {
					of = label.GetValue()
				} else {
					name += " " + label.GetValue()
				}
			}
			value := m.GetGauge().GetValue() + m.GetCounter().GetValue()
			if m.GetHistogram() != nil {
				value = float64(m.GetHistogram().GetSampleCount())
			}
			if of == memberName && value != 0 {
				found[name] = value
			}
		}
	}
	return found
}

// seriesOf returns the number of this package's series for a member.
func seriesOf(t *testing.T, memberName string) (n int) {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			for _, label := range m.GetLabel() {
				if label.GetName() == "member" && label.GetValue() == memberName {
					n++
				}
			}
		}
	}
	return n
}

func testQueue(open bool, keys ...Key) *memberQueue {
	is := member.ProbeResult{Reachable: !open, Valid: !open}
	q := &memberQueue{breaker: newBreaker(is), shares: &sharedIntents{}, queue: workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[Key]{})}
	for _, key := range keys {
		q.queue.Add(key)
	}
	return q
}

func TestMetricsOfPushes(t *testing.T) {
	changed, gone, unfinished := plan.ObjectID{Kind: "ConfigMap", Name: "a"}, plan.ObjectID{Kind: "ConfigMap", Name: "b"}, plan.ObjectID{Kind: "ConfigMap", Name: "c"}
	repairs := &plan.Work{
		Drifted: map[plan.ObjectID]v1alpha1.DriftKind{changed: v1alpha1.DriftChanged, gone: v1alpha1.DriftGone},
		Marks:   map[plan.ObjectID]string{changed: "1", gone: "2"},
	}
	repairs.Marks[unfinished] = "3"
	for name, tc := range map[string]struct {
		outcome plan.Outcome
		err     error
		todo    *plan.Work
		counts  apply.Counts
		want    map[string]float64
	}{
		"a push that is done": {outcome: plan.Outcome{Done: true}, counts: apply.Counts{DeliveryWrites: 2},
			want: map[string]float64{"fairlead_pushes_total done": 1, "fairlead_delivery_writes_total": 2}},
		"a push with refused objects": {counts: apply.Counts{Rejected: map[string]int{v1alpha1.ReasonRefused: 2, v1alpha1.ReasonInvalid: 1}},
			want: map[string]float64{"fairlead_pushes_total incomplete": 1, "fairlead_rejected_applies_total Refused": 2, "fairlead_rejected_applies_total Invalid": 1}},
		"a reason that the documentation does not list counts as PushError": {counts: apply.Counts{Rejected: map[string]int{"Other": 1}},
			want: map[string]float64{"fairlead_pushes_total incomplete": 1, "fairlead_rejected_applies_total PushError": 1}},
		"a push that did not reach the member repairs nothing": {err: errors.New("connection refused"), todo: repairs,
			want: map[string]float64{"fairlead_pushes_total error": 1}},
		"a push that repairs drift, except one object": {outcome: plan.Outcome{Done: true, Unrepaired: []plan.ObjectID{gone, unfinished}}, todo: repairs,
			want: map[string]float64{"fairlead_pushes_total done": 1, "fairlead_drift_repairs_total Changed": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			q := testQueue(false)
			queues.begin(name, q)
			defer queues.end(name, q)
			if tc.todo == nil {
				tc.todo = &plan.Work{}
			}
			measure(name, 70*time.Millisecond, tc.outcome, tc.err, tc.todo, tc.counts)
			tc.want["fairlead_push_duration_seconds"] = 1
			if diff := cmp.Diff(tc.want, valuesOf(t, name)); diff != "" {
				t.Errorf("metrics (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMetricsOfAQueue(t *testing.T) {
	const name = "queue"
	key := Key{Kind: v1alpha1.KindFederated, NamespacedName: types.NamespacedName{Namespace: "shop", Name: "web"}}
	q := testQueue(true, key)
	q.shares.turns.Wait(key, nil, time.Now())
	queues.begin(name, q)
	want := map[string]float64{"fairlead_push_queue_depth": 1, "fairlead_pushes_stopped": 1, "fairlead_shared_intents_waiting": 1}
	if diff := cmp.Diff(want, valuesOf(t, name)); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
	// The member gets a new connection: the new queue begins before the old one ends.
	next := testQueue(false)
	queues.begin(name, next)
	queues.end(name, q)
	if diff := cmp.Diff(map[string]float64{}, valuesOf(t, name)); diff != "" {
		t.Errorf("metrics of the next queue (-want +got):\n%s", diff)
	}
	if seriesOf(t, name) == 0 {
		t.Error("the end of the old queue removed the metrics of the new one")
	}
	queues.end(name, next)
	if n := seriesOf(t, name); n != 0 {
		t.Errorf("%d series are left of a member whose queue ended", n)
	}
}
