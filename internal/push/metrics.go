// SPDX-License-Identifier: Apache-2.0

package push

import (
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/push/apply"
	"github.com/fairlead-dev/fairlead/internal/push/plan"
)

// The results of a push, for label result of fairlead_pushes_total.
const (
	// resultDone means that the member has the desired state.
	resultDone = "done"
	// resultIncomplete means that at least one object waits or was refused.
	resultIncomplete = "incomplete"
	// resultError means that the push ended with an error that concerns the member as a whole.
	resultError = "error"
)

var (
	pushDuration = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "fairlead_push_duration_seconds",
		Help:    "How long a push of one wrapper to a member took, from its first to its last request. The time in the queue is not part of it.",
		Buckets: []float64{0.05, 0.25, 1, 5, 15, 60},
	}, []string{"member"})
	pushes = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "fairlead_pushes_total",
		Help: "Pushes that ended, by result: done, incomplete (an object waits or was refused) or error (the member as a whole did not answer).",
	}, []string{"member", "result"})
	rejectedApplies = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "fairlead_rejected_applies_total",
		Help: "Objects whose apply a member's API server refused, by reason: one of those that the member's line in the wrapper's status can have.",
	}, []string{"member", "reason"})
	deliveryWrites = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "fairlead_delivery_writes_total",
		Help: "Writes and deletions of Deliveries that a member accepted from the manager.",
	}, []string{"member"})
	driftRepairs = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "fairlead_drift_repairs_total",
		Help: "Objects that another client had changed, and that a push applied again, by kind of drift: Changed, Gone or Replaced. " +
			"Secrets do not count, because no collector reports their drift.",
	}, []string{"member", "kind"})
	// queues has the queues whose length a scrape reads.
	queues = &queueMetrics{open: make(map[string]*memberQueue)}
)

func init() { metrics.Registry.MustRegister(Metrics()...) } //nolint:gochecknoinits // packages register their metrics in init, as controller-runtime asks

// Metrics returns the metrics of this package. The package has registered them with controller-runtime's registry.
func Metrics() []prometheus.Collector {
	return []prometheus.Collector{pushDuration, pushes, rejectedApplies, deliveryWrites, driftRepairs, queues}
}

var (
	results    = []string{resultDone, resultIncomplete, resultError}
	driftKinds = []v1alpha1.DriftKind{v1alpha1.DriftChanged, v1alpha1.DriftGone, v1alpha1.DriftReplaced}
	// rejectReasons are the reasons that apply.Pass.Counts can return.
	rejectReasons = []string{
		v1alpha1.ReasonAPINotServed, v1alpha1.ReasonImmutableField, v1alpha1.ReasonInvalid, v1alpha1.ReasonNamespaceNotOpen,
		v1alpha1.ReasonNamespaceTerminating, v1alpha1.ReasonNotGranted, v1alpha1.ReasonPushError, v1alpha1.ReasonRefused,
	}
)

// measure counts one push that ended. outcome is the zero value if err is not nil.
func measure(name string, took time.Duration, outcome plan.Outcome, err error, todo *plan.Work, counts apply.Counts) {
	pushDuration.WithLabelValues(name).Observe(took.Seconds())
	pushes.WithLabelValues(name, resultOf(outcome, err)).Inc()
	deliveryWrites.WithLabelValues(name).Add(float64(counts.DeliveryWrites))
	for reason, n := range counts.Rejected {
		if !slices.Contains(rejectReasons, reason) {
			reason = v1alpha1.ReasonPushError // so that the label has no other values than those that the documentation lists
		}
		rejectedApplies.WithLabelValues(name, reason).Add(float64(n))
	}
	if err != nil {
		return
	}
	for _, id := range todo.Repaired(&outcome) {
		driftRepairs.WithLabelValues(name, string(todo.Drifted[id])).Inc()
	}
}

// resultOf returns the result of a push that ended, as metrics and traces name it.
func resultOf(outcome plan.Outcome, err error) string {
	switch {
	case err != nil:
		return resultError
	case outcome.Done:
		return resultDone
	}
	return resultIncomplete
}

var (
	queueDepth = prometheus.NewDesc("fairlead_push_queue_depth",
		"Wrappers that wait in the queue of a member. It does not include pushes that run, or wrappers that wait for the time of their next try.", []string{"member"}, nil)
	intentsWaiting = prometheus.NewDesc("fairlead_shared_intents_waiting",
		"New wrappers that wait, for about a second at most, until the manager writes their intents to the member in one request.", []string{"member"}, nil)
	pushesStopped = prometheus.NewDesc("fairlead_pushes_stopped",
		"1 while the manager pushes nothing to the member, because the last probe or push did not reach it or it refused the credentials; else 0.", []string{"member"}, nil)
)

// queueMetrics reads the queues when Prometheus scrapes the manager. It uses no metrics of package workqueue: those
// cannot be removed when a member leaves.
type queueMetrics struct {
	mu   sync.Mutex
	open map[string]*memberQueue
}

// begin begins the metrics of a member with a new queue. Counters begin at zero, so that a rate includes the first event.
func (m *queueMetrics) begin(name string, q *memberQueue) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.open[name] = q
	pushDuration.WithLabelValues(name)
	deliveryWrites.WithLabelValues(name)
	for _, result := range results {
		pushes.WithLabelValues(name, result)
	}
	for _, reason := range rejectReasons {
		rejectedApplies.WithLabelValues(name, reason)
	}
	for _, kind := range driftKinds {
		driftRepairs.WithLabelValues(name, string(kind))
	}
}

// end removes the metrics of a member whose queue q ended. It removes nothing if the member has another queue by now.
func (m *queueMetrics) end(name string, q *memberQueue) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.open[name] != q {
		return
	}
	delete(m.open, name)
	of := prometheus.Labels{"member": name}
	for _, vec := range []interface {
		DeletePartialMatch(labels prometheus.Labels) int
	}{pushDuration, pushes, rejectedApplies, deliveryWrites, driftRepairs} {
		vec.DeletePartialMatch(of)
	}
}

// Describe implements prometheus.Collector.
func (m *queueMetrics) Describe(to chan<- *prometheus.Desc) {
	to <- queueDepth
	to <- intentsWaiting
	to <- pushesStopped
}

// Collect implements prometheus.Collector.
func (m *queueMetrics) Collect(to chan<- prometheus.Metric) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, q := range m.open {
		stopped := 0.0
		if q.breaker.isOpen() {
			stopped = 1
		}
		to <- prometheus.MustNewConstMetric(queueDepth, prometheus.GaugeValue, float64(q.queue.Len()), name)
		to <- prometheus.MustNewConstMetric(intentsWaiting, prometheus.GaugeValue, float64(q.shares.waiting()), name)
		to <- prometheus.MustNewConstMetric(pushesStopped, prometheus.GaugeValue, stopped, name)
	}
}
