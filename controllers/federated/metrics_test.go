// SPDX-License-Identifier: Apache-2.0

package federated

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/member"
)

// exported returns the metrics of this package, by name and label values.
func exported(t *testing.T) map[string]float64 {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]float64{}
	for _, family := range families {
		switch family.GetName() {
		case "fairlead_pairs", "fairlead_contested_pairs", "fairlead_wrappers":
		default:
			continue
		}
		for _, m := range family.GetMetric() {
			name := family.GetName()
			for _, label := range m.GetLabel() {
				name += fmt.Sprintf(" %q", label.GetValue())
			}
			found[name] = m.GetGauge().GetValue()
		}
	}
	return found
}

func TestAScrapeCountsTheLinesOfAllWrappers(t *testing.T) {
	web, banner := &v1alpha1.Federated{}, &v1alpha1.ClusterFederated{}
	web.Namespace, web.Name, banner.Name = "shop", "web", "banner"
	web.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: "Stalled"}}
	web.Status.Clusters = []v1alpha1.ClusterStatus{
		{Name: "east", State: v1alpha1.StateStalled, Reason: v1alpha1.ReasonDriftContested}, {Name: "west", State: v1alpha1.StateHealthy},
	}
	web.Status.ClustersOmittedByState = []v1alpha1.OmittedClusters{{State: v1alpha1.StateHealthy, Count: 7}}
	banner.Status.Clusters = []v1alpha1.ClusterStatus{{Name: "east", State: v1alpha1.StateStalled}, {Name: "west", State: v1alpha1.StateHealthy}}
	host := fake.NewClientBuilder().WithScheme(member.Scheme).WithObjects(web, banner).
		WithStatusSubresource(&v1alpha1.Federated{}, &v1alpha1.ClusterFederated{}).Build()
	for _, w := range []client.Object{web, banner} {
		if err := host.Status().Update(t.Context(), w); err != nil {
			t.Fatal(err)
		}
	}
	wrappers.mu.Lock()
	clear(wrappers.loops) // the loops of earlier tests leave the metrics in goroutines, which may not have run yet
	wrappers.mu.Unlock()
	if before := exported(t); len(before) > 0 {
		t.Errorf("a replica that does not lead exports: %v", before)
	}
	ctx, stop := context.WithCancel(t.Context())
	for _, kind := range []v1alpha1.WrapperKind{v1alpha1.KindFederated, v1alpha1.KindClusterFederated} {
		wrappers.begin(ctx, &Reconciler{kind: kind, client: host})
	}
	want := map[string]float64{
		`fairlead_pairs "east" "Stalled"`: 2, `fairlead_pairs "west" "Healthy"`: 2, `fairlead_pairs "" "Healthy"`: 7,
		`fairlead_contested_pairs "east"`:       1,
		`fairlead_wrappers "Federated" "False"`: 1, `fairlead_wrappers "ClusterFederated" "Unknown"`: 1,
	}
	if diff := cmp.Diff(want, exported(t)); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}

	web.Status.Clusters = web.Status.Clusters[1:] // the wrapper has left member east
	banner.Status.Clusters = banner.Status.Clusters[1:]
	for _, w := range []client.Object{web, banner} {
		if err := host.Status().Update(t.Context(), w); err != nil {
			t.Fatal(err)
		}
	}
	delete(want, `fairlead_pairs "east" "Stalled"`)
	delete(want, `fairlead_contested_pairs "east"`)
	if diff := cmp.Diff(want, exported(t)); diff != "" {
		t.Errorf("metrics after member east has left (-want +got):\n%s", diff)
	}
	stop()
	for len(exported(t)) > 0 { // the loops leave the metrics in a goroutine of their own; if they never do, the test times out
		runtime.Gosched()
	}
}

// BenchmarkScrape counts the lines of 2,000 wrappers on 200 members.
func BenchmarkScrape(b *testing.B) {
	status := &v1alpha1.WrapperStatus{}
	for i := range 200 {
		status.Clusters = append(status.Clusters, v1alpha1.ClusterStatus{Name: fmt.Sprintf("member-%d", i), State: v1alpha1.StateHealthy})
	}
	for b.Loop() {
		n := newLineCounts()
		for range 2000 {
			n.add(v1alpha1.KindFederated, status)
		}
	}
}
