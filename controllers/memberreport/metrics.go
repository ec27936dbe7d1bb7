// SPDX-License-Identifier: Apache-2.0

package memberreport

import (
	"context"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

var (
	evidenceDesc = prometheus.NewDesc("fairlead_evidence_bytes",
		"Bytes of memory, by estimate, that the evidence of a member takes in the manager. One member may take an eighth of fairlead_evidence_limit_bytes.",
		[]string{"member"}, nil)
	evidenceLimitDesc = prometheus.NewDesc("fairlead_evidence_limit_bytes",
		"Bytes of memory that the evidence of all members may take, as --member-reports-memory sets them. The same limit holds for the MemberReports in etcd.",
		nil, nil)

	// evidenceOfAll has the store whose memory a scrape reads.
	evidenceOfAll = &evidenceMetrics{}
)

func init() { metrics.Registry.MustRegister(Metrics()...) } //nolint:gochecknoinits // packages register their metrics in init, as controller-runtime asks

// Metrics returns the metrics of this package. The package has registered them with controller-runtime's registry.
func Metrics() []prometheus.Collector { return []prometheus.Collector{evidenceOfAll} }

// evidenceMetrics reads the memory of the evidence when Prometheus scrapes the manager. Only the leader's loop runs, so only the
// leader exports these metrics.
type evidenceMetrics struct {
	mu    sync.Mutex
	store *Store
}

// begin makes scrapes read a store until ctx ends.
func (m *evidenceMetrics) begin(ctx context.Context, s *Store) {
	m.mu.Lock()
	m.store = s
	m.mu.Unlock()
	context.AfterFunc(ctx, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.store == s {
			m.store = nil
		}
	})
}

// Describe implements prometheus.Collector.
func (m *evidenceMetrics) Describe(to chan<- *prometheus.Desc) {
	to <- evidenceDesc
	to <- evidenceLimitDesc
}

// Collect implements prometheus.Collector.
func (m *evidenceMetrics) Collect(to chan<- prometheus.Metric) {
	m.mu.Lock()
	s := m.store
	m.mu.Unlock()
	if s == nil {
		return
	}
	bytes, limit := s.memoryUsed()
	for name, n := range bytes {
		to <- prometheus.MustNewConstMetric(evidenceDesc, prometheus.GaugeValue, float64(n), name)
	}
	to <- prometheus.MustNewConstMetric(evidenceLimitDesc, prometheus.GaugeValue, float64(limit))
}
