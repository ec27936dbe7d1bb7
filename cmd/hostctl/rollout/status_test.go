// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/internal/testing/golden"
)

// statusOf runs `rollout status`. With -w, it calls the next function in the parameter changes before each read except the first, and
// interrupts the command after the last of these functions.
func statusOf(t *testing.T, host client.Client, terminal bool, changes []func(*v1alpha1.Federated), args ...string) result {
	t.Helper()
	s := newStreams("")
	o := newStatus(s.IOStreams)
	o.setUp(host)
	o.OnTerminal = func() bool { return terminal }
	o.Pause = func(ctx context.Context) error {
		if len(changes) == 0 {
			return context.Canceled
		}
		w := &v1alpha1.Federated{}
		if err := host.Get(ctx, client.ObjectKey{Namespace: "shop", Name: "web"}, w); err != nil {
			return err
		}
		changes[0](w)
		changes = changes[1:]
		return host.Status().Update(ctx, w)
	}
	return run(t, newStatusCommand(o), s, args...)
}

func TestStatusShowsTheClustersInTheOrderOfTheirWaves(t *testing.T) {
	for file, test := range map[string]struct {
		terminal bool
		args     []string
	}{
		"status.txt":          {false, []string{"web", "-n", "shop"}},
		"status-terminal.txt": {true, []string{"web", "-n", "shop"}},
		"status.json":         {false, []string{"web", "-n", "shop", "-o", "json"}},
		"status.yaml":         {false, []string{"web", "-n", "shop", "-o", "yaml"}},
	} {
		t.Run(file, func(t *testing.T) {
			got := statusOf(t, hostWith(t, web(asIs)), test.terminal, nil, test.args...)
			if got.code() != exit.Waits || !exit.Silent(got.err) {
				t.Errorf("it waits for an approval, and the command returns %v", got.err)
			}
			golden.Equal(t, file, got.stdout)
		})
	}
}

func TestStatusNamesTheReasonOfAWaitAndTheRemedy(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*v1alpha1.Federated)
		code   int
		says   string
	}{
		"an approval": {asIs, exit.Waits, "is Progressing in wave last since 2m: `hostctl approve web -n shop --wave last` lets wave last begin (WaveNeedsApproval)"},
		"suspended":   {suspended, exit.Waits, "; `hostctl rollout resume web -n shop` lets the rollout go on (Suspended)"},
		"suspended with every write": {func(w *v1alpha1.Federated) { suspended(w); w.Spec.Suspend = v1alpha1.SuspendAll }, exit.Waits,
			"; `hostctl rollout resume web -n shop --all` lets all writes go on (Suspended)"},
		"paused": {paused, exit.Waits, "fed-web-4 failed in wave canary on cluster east (Invalid): change the spec, or run `hostctl approve web -n shop --retry` to try fed-web-4 again"},
		"paused, with the message of the member": {func(w *v1alpha1.Federated) { paused(w); w.Status.Rollout.Failure.Message = "ConfigMap web: no" }, exit.Waits,
			" --retry` to try fed-web-4 again; when the rollout failed, the message of cluster east was \"ConfigMap web: no\" (RolloutStopped)"},
		"back at the last good revision": {func(w *v1alpha1.Federated) { paused(w); w.Status.Rollout.State = v1alpha1.RolloutRolledBack }, exit.Waits,
			"the fleet is back at fed-web-2"},
		"back, except an operator": {func(w *v1alpha1.Federated) {
			paused(w)
			w.Status.Rollout.State, w.Status.Clusters[0].Reason = v1alpha1.RolloutRolledBack, v1alpha1.ReasonAheadOfTarget
		}, exit.Waits, "the rollback to fed-web-2 has ended, and cluster " + web(asIs).Status.Clusters[0].Name + " still has a later version of an operator: change the spec"},
		"going back": {func(w *v1alpha1.Federated) { paused(w); w.Status.Rollout.State = v1alpha1.RolloutRollingBack }, exit.Done, "goes back to fed-web-2"},
		"a cluster that is not healthy yet": {func(w *v1alpha1.Federated) {
			w.Status.Rollout.WaitingFor, w.Status.Rollout.WaitingForCluster = v1alpha1.ReasonNotHealthy, "north"
		}, exit.Done, "waiting for cluster north to become healthy (NotHealthy)"},
		"complete": {finished, exit.Done, "3 of 3 clusters updated\nFederated shop/web: the rollout of fed-web-4 is Complete since 2m\n"},
		"a removal that waits for an approval": {func(w *v1alpha1.Federated) {
			finished(w)
			w.Status.Clusters[0].State, w.Status.Clusters[0].Reason, w.Status.Counts.Held = v1alpha1.StateHeld, v1alpha1.ReasonRemovalNeedsApproval, new(int32(1))
		}, exit.Waits, "RemovalNeedsApproval"},
		"an InstallPlan that a person approves": {func(w *v1alpha1.Federated) {
			finished(w)
			w.Status.Clusters[0].Reason = v1alpha1.ReasonApprovalRequired
		}, exit.Waits, "ApprovalRequired"},
		"a status of an earlier spec": {func(w *v1alpha1.Federated) { w.Generation++ }, exit.Done, "has not acted on the present spec yet"},
		"lines that were left out":    {func(w *v1alpha1.Federated) { w.Status.ClustersOmitted = 7 }, exit.Waits, "7 more clusters have no line"},
	} {
		t.Run(name, func(t *testing.T) {
			got := statusOf(t, hostWith(t, web(test.change)), false, nil, "web", "-n", "shop")
			if got.code() != test.code || !strings.Contains(got.stdout, test.says) {
				t.Errorf("code %d (%v), want %d and %q in:\n%s", got.code(), got.err, test.code, test.says, got.stdout)
			}
		})
	}
}

// A RoleBinding in one namespace cannot grant MemberClusters, which are cluster-scoped.
func TestStatusNeedsNoMemberClusters(t *testing.T) {
	host := interceptor.NewClient(hostWith(t, web(asIs)), interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if _, ok := list.(*v1alpha1.MemberClusterList); ok {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "memberclusters"}, "", errors.New("no"))
			}
			return c.List(ctx, list, opts...)
		}})
	same := func(*v1alpha1.Federated) {}
	for file, args := range map[string][]string{"status-oncall.txt": {"web", "-n", "shop"}, "watch-oncall.txt": {"web", "-n", "shop", "-w"}} {
		t.Run(file, func(t *testing.T) {
			got := statusOf(t, host, false, []func(*v1alpha1.Federated){same}, args...)
			if got.code() != exit.Waits {
				t.Errorf("it waits for an approval, and the command returns %v", got.err)
			}
			golden.Equal(t, file, got.stdout)
			if strings.Count(got.stderr, "\n") != 1 || !strings.Contains(got.stderr, "your account may not list MemberClusters") {
				t.Errorf("stderr has %q, want one line", got.stderr)
			}
		})
	}
}

func TestStatusRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		code int
		says string
	}{
		"a wrapper that is not there":         {[]string{"lost", "-n", "shop"}, exit.Failed, "there is no Federated lost in namespace shop"},
		"a format that is none":               {[]string{"web", "-o", "xml"}, exit.Usage, "give json or yaml"},
		"a format with -w":                    {[]string{"web", "-w", "-o", "json"}, exit.Usage, "leave --output out"},
		"a kind that is neither of the kinds": {[]string{"member/web"}, exit.Usage, "cfed/NAME for a ClusterFederated"},
	} {
		t.Run(name, func(t *testing.T) {
			got := statusOf(t, hostWith(t, web(asIs)), false, nil, test.args...)
			if got.err == nil || got.code() != test.code || !strings.Contains(got.err.Error(), test.says) {
				t.Errorf("got %d %v, want %d and %q", got.code(), got.err, test.code, test.says)
			}
		})
	}
}

func TestStatusWatchesUntilTheRolloutIsOver(t *testing.T) {
	same := func(*v1alpha1.Federated) {}
	begun := func(w *v1alpha1.Federated) {
		w.Status.Rollout.Begun, w.Status.Rollout.WaitingFor = v1alpha1.Yes, ""
		w.Status.Clusters[1].State, w.Status.Clusters[1].Revision, w.Status.Clusters[1].Reason = v1alpha1.StatePushing, "fed-web-4", ""
	}
	for file, test := range map[string]struct {
		terminal bool
		changes  []func(*v1alpha1.Federated)
		code     int
	}{
		"watch-complete.txt": {false, []func(*v1alpha1.Federated){same, begun, same, finished}, exit.Done},
		"watch-paused.txt":   {false, []func(*v1alpha1.Federated){paused}, exit.Waits},
		"watch-terminal.txt": {true, []func(*v1alpha1.Federated){finished}, exit.Done},
	} {
		t.Run(file, func(t *testing.T) {
			// Each case gets one more change (begun) after its last one. The command must end without reading it; otherwise the
			// output differs from the golden file.
			got := statusOf(t, hostWith(t, web(asIs)), test.terminal, append(test.changes, begun), "web", "-n", "shop", "-w")
			if got.code() != test.code || got.err != nil && !exit.Silent(got.err) {
				t.Errorf("returned %v", got.err)
			}
			golden.Equal(t, file, got.stdout)
		})
	}
}

func TestAnInterruptedWatchSaysWhetherTheRolloutWaits(t *testing.T) {
	if got := statusOf(t, hostWith(t, web(asIs)), false, nil, "web", "-n", "shop", "-w"); got.code() != exit.Waits {
		t.Errorf("waiting for an approval: %v", got.err)
	}
	going := func(w *v1alpha1.Federated) { w.Status.Rollout.WaitingFor = v1alpha1.ReasonWaveSoaking }
	if got := statusOf(t, hostWith(t, web(going)), false, nil, "web", "-n", "shop", "-w"); !errors.Is(got.err, context.Canceled) {
		t.Errorf("under way: %v", got.err)
	}
}
