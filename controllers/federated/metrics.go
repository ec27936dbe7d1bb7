// SPDX-License-Identifier: Apache-2.0

package federated

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

var (
	pairsDesc = prometheus.NewDesc("fairlead_pairs",
		"Lines in status.clusters of all wrappers, by member and state. The lines that a status omits beyond 500 have member=\"\". A state without lines has no series.",
		[]string{"member", "state"}, nil)
	contestedDesc = prometheus.NewDesc("fairlead_contested_pairs",
		"Lines in status.clusters of all wrappers with reason DriftContested, by member. A member without such lines has no series.", []string{"member"}, nil)
	wrappersDesc = prometheus.NewDesc("fairlead_wrappers",
		"Wrappers on the host, by kind and by the status of their condition Ready: True, False or Unknown.", []string{"kind", "ready"}, nil)

	// wrappers are the loops whose wrappers a scrape counts.
	wrappers = &wrapperMetrics{loops: make(map[v1alpha1.WrapperKind]*Reconciler)}
)

func init() { metrics.Registry.MustRegister(Metrics()...) } //nolint:gochecknoinits // packages register their metrics in init, as controller-runtime asks

// Metrics returns the metrics of this package. The package has registered them with controller-runtime's registry.
func Metrics() []prometheus.Collector { return []prometheus.Collector{wrappers} }

// collectTimeout is how long a scrape waits for the cache of wrappers.
const collectTimeout = 5 * time.Second

// wrapperMetrics counts the lines of all wrappers' statuses when Prometheus scrapes the manager. It reads the cache, so
// a reconcile pays nothing for these metrics. Only the leader's loops run, so only the leader exports them.
type wrapperMetrics struct {
	mu    sync.Mutex
	loops map[v1alpha1.WrapperKind]*Reconciler
}

// begin makes scrapes count the wrappers of a loop until ctx ends.
func (m *wrapperMetrics) begin(ctx context.Context, r *Reconciler) {
	m.mu.Lock()
	m.loops[r.kind] = r
	m.mu.Unlock()
	context.AfterFunc(ctx, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.loops[r.kind] == r {
			delete(m.loops, r.kind)
		}
	})
}

// Describe implements prometheus.Collector.
func (m *wrapperMetrics) Describe(to chan<- *prometheus.Desc) {
	to <- pairsDesc
	to <- contestedDesc
	to <- wrappersDesc
}

// Collect implements prometheus.Collector.
func (m *wrapperMetrics) Collect(to chan<- prometheus.Metric) {
	m.mu.Lock()
	loops := make([]*Reconciler, 0, len(m.loops))
	for _, r := range m.loops {
		loops = append(loops, r)
	}
	m.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), collectTimeout)
	defer cancel()
	n := newLineCounts()
	for _, r := range loops {
		if err := r.each(ctx, func(w v1alpha1.Wrapper) { n.add(r.kind, w.WrapperStatus()) }); err != nil {
			log.Log.WithName("metrics").Error(err, "could not count the wrappers for a scrape", "kind", r.kind)
			return
		}
	}
	for at, lines := range n.pairs {
		to <- prometheus.MustNewConstMetric(pairsDesc, prometheus.GaugeValue, lines, at.member, string(at.state))
	}
	for name, lines := range n.contested {
		to <- prometheus.MustNewConstMetric(contestedDesc, prometheus.GaugeValue, lines, name)
	}
	for at, n := range n.wrappers {
		to <- prometheus.MustNewConstMetric(wrappersDesc, prometheus.GaugeValue, n, string(at.kind), string(at.ready))
	}
}

type (
	memberState struct {
		member string
		state  v1alpha1.ClusterState
	}
	kindReady struct {
		kind  v1alpha1.WrapperKind
		ready metav1.ConditionStatus
	}
	// lineCounts are the values of one scrape.
	lineCounts struct {
		pairs     map[memberState]float64
		contested map[string]float64
		wrappers  map[kindReady]float64
	}
)

func newLineCounts() *lineCounts {
	return &lineCounts{pairs: make(map[memberState]float64), contested: make(map[string]float64), wrappers: make(map[kindReady]float64)}
}

// add counts the status of one wrapper.
func (n *lineCounts) add(kind v1alpha1.WrapperKind, status *v1alpha1.WrapperStatus) {
	ready := metav1.ConditionUnknown
	if c := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady); c != nil {
		ready = c.Status
	}
	n.wrappers[kindReady{kind, ready}]++
	for i := range status.Clusters {
		line := &status.Clusters[i]
		n.pairs[memberState{line.Name, line.State}]++
		if line.Reason == v1alpha1.ReasonDriftContested {
			n.contested[line.Name]++
		}
	}
	for _, omitted := range status.ClustersOmittedByState {
		n.pairs[memberState{"", omitted.State}] += float64(omitted.Count)
	}
}
