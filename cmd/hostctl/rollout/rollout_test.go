// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func ago(d time.Duration) metav1.Time { return metav1.NewTime(now.Add(-d)) }

// web returns a wrapper with a rollout in two waves. Wave canary with member east has passed. Wave last, with the other members, waits for an
// Approval. The manager is removing the wrapper from member west.
func web(change func(*v1alpha1.Federated)) *v1alpha1.Federated {
	last := build.ManualWave("last")
	canary := v1alpha1.RolloutWave{Name: "canary", Clusters: &v1alpha1.ClusterSelection{
		Selectors: []metav1.LabelSelector{{MatchLabels: map[string]string{"tier": "canary"}}}}}
	w := build.Federated("web").In("shop").To("east", "north", "south").
		With(build.ConfigMap("settings", "color", "green"), build.ConfigMap("texts")).InWaves(v1alpha1.FailurePause, canary, last).Obj()
	w.UID, w.Generation = "u", 4
	w.Status.ObservedGeneration, w.Status.UpdateRevision, w.Status.CurrentRevision = 4, "fed-web-4", "fed-web-2"
	w.Status.Counts = v1alpha1.ClusterCounts{Placed: new(int32(3)), Updated: new(int32(1))}
	w.Status.Placement = v1alpha1.PlacementStatus{ObservedGeneration: 4, Clusters: []string{"east", "north", "south"}, Leaving: []string{"west"}}
	line := func(name, revision string, state v1alpha1.ClusterState, reason string, since time.Duration) v1alpha1.ClusterStatus {
		return v1alpha1.ClusterStatus{Name: name, Revision: revision, State: state, Reason: reason, LastTransitionTime: ago(since)}
	}
	w.Status.Clusters = []v1alpha1.ClusterStatus{
		line("west", "fed-web-2", v1alpha1.StateRemoving, "Deleting", 90*time.Minute),
		line("north", "fed-web-2", v1alpha1.StateHealthy, v1alpha1.ReasonWaveNeedsApproval, time.Minute),
		line("south", "fed-web-2", v1alpha1.StateHealthy, v1alpha1.ReasonWaveNeedsApproval, time.Minute),
		line("east", "fed-web-4", v1alpha1.StateHealthy, "", 3*time.Minute),
	}
	w.Status.Clusters[3].Version = "crates.v1.1.0"
	w.Status.Rollout = v1alpha1.RolloutStatus{ID: "a1", Revision: "fed-web-4", State: v1alpha1.RolloutProgressing, Wave: "last",
		Since: ago(2 * time.Minute), WaitingFor: v1alpha1.ReasonWaveNeedsApproval, LastGoodRevision: "fed-web-2"}
	change(w)
	return w
}

func asIs(*v1alpha1.Federated) {}

func suspended(w *v1alpha1.Federated) {
	w.Spec.Suspend, w.Status.Rollout.WaitingFor = v1alpha1.SuspendRollout, v1alpha1.ReasonSuspended
}

func paused(w *v1alpha1.Federated) {
	r := &w.Status.Rollout
	r.State, r.Wave, r.WaitingFor = v1alpha1.RolloutPaused, "canary", v1alpha1.ReasonRolloutStopped
	r.Failure = v1alpha1.RolloutFailure{Revision: "fed-web-4", Wave: "canary", Cluster: "east", Reason: "Invalid", Count: 1}
}

func finished(w *v1alpha1.Federated) {
	r := &w.Status.Rollout
	r.State, r.Wave, r.WaitingFor, r.LastGoodRevision = v1alpha1.RolloutComplete, "", "", r.Revision
	w.Status.Counts.Updated = new(int32(3))
}

// hostWith returns a client for a fake host that has these objects, and the members of web.
func hostWith(t *testing.T, objects ...client.Object) client.WithWatch {
	t.Helper()
	t.Setenv("KUBECONFIG", "testdata/kubeconfig.yaml")
	scheme := runtime.NewScheme()
	if err := errors.Join(v1alpha1.AddToScheme(scheme), appsv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"east", "north", "south", "west"} {
		member := &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if name == "east" {
			member.Labels = map[string]string{"tier": "canary"}
		}
		objects = append(objects, member)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithReturnManagedFields().WithObjects(objects...).WithStatusSubresource(&v1alpha1.Federated{}).Build()
}

// setUp makes a subcommand use this fake host, and a clock that stands still.
func (t *Target) setUp(host client.Client) {
	t.Connect = func() (client.Client, error) { return host, nil }
	t.Now = func() time.Time { return now }
}

type result struct {
	stdout, stderr string
	err            error
}

func (r result) code() int { return exit.CodeOf(r.err) }

// run runs a command with args, and returns its error and what it wrote to streams.
func run(t *testing.T, cmd *cobra.Command, streams *streams, args ...string) result {
	t.Helper()
	cmd.SetArgs(args)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err := cmd.ExecuteContext(t.Context())
	return result{stdout: streams.out.String(), stderr: streams.said.String(), err: err}
}

type streams struct {
	genericiooptions.IOStreams
	out, said bytes.Buffer
}

func newStreams(answer string) *streams {
	s := &streams{}
	s.IOStreams = genericiooptions.IOStreams{In: bytes.NewBufferString(answer), Out: &s.out, ErrOut: &s.said}
	return s
}
