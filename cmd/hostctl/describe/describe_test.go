// SPDX-License-Identifier: Apache-2.0

package describe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/evidence"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/screen"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
	"github.com/fairlead-dev/fairlead/internal/testing/golden"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func ago(d time.Duration) metav1.Time { return metav1.NewTime(now.Add(-d)) }

func line(name string, state v1alpha1.ClusterState, reason, message string, since time.Duration) v1alpha1.ClusterStatus {
	return v1alpha1.ClusterStatus{Name: name, Revision: "fed-storefront-5d8f7c9b64", State: state, Reason: reason, Message: message, LastTransitionTime: ago(since)}
}

func condition(kind string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message}
}

// storefront returns a wrapper on 32 members: 24 cannot pull an image, one has no StorageClass, one has a pod that is not scheduled, one
// is unreachable, one waits, and four are healthy.
func storefront(change func(*v1alpha1.Federated)) *v1alpha1.Federated {
	b := build.Federated("storefront").In("shop").To("de-01").With(build.Claim("data"), build.Claim("store"),
		build.Manifest(`{apiVersion: batch/v1, kind: Job, metadata: {name: import}}`))
	for _, name := range []string{"web", "cache", "beside", "db", "api", "batch", "mail", "search"} {
		b.With(build.Manifest(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: %s}}`, name))
	}
	w := b.Obj()
	w.UID, w.Generation = "u", 4
	s := &w.Status
	s.ObservedGeneration, s.UpdateRevision = 4, "fed-storefront-5d8f7c9b64"
	s.Conditions = []metav1.Condition{condition(v1alpha1.ConditionPlaced, metav1.ConditionTrue, v1alpha1.ReasonPlaced, "")}
	for i := range 24 {
		s.Clusters = append(s.Clusters, line(fmt.Sprintf("de-%02d", i+1), v1alpha1.StateDegraded, "ImagePullBackOff", fmt.Sprintf(
			`Deployment web: pod web-5d8f7c9b64-x7k%dp: container app: its image shop/web:1.2.4 cannot be pulled: not found; Available: 0/1`, i%2+4),
			4*time.Minute-time.Duration(i)*time.Second))
	}
	s.Clusters = append(s.Clusters,
		line("us-1", v1alpha1.StateDegraded, "Unschedulable", "Deployment web: pod web-5d8f7c9b64-x7k2p: it cannot be scheduled: 0/3 nodes are available: 3 Insufficient cpu.", time.Minute),
		line("us-2", v1alpha1.StateDegraded, v1alpha1.ReasonClassNotFound, "PersistentVolumeClaim data: this cluster has no StorageClass fast", time.Minute),
		line("us-3", v1alpha1.StateUnreachable, v1alpha1.ReasonUnreachable, "dial tcp 10.0.0.1:6443: connect: connection refused", time.Hour),
		line("us-4", v1alpha1.StateWaiting, v1alpha1.ReasonAPINotServed, "Certificate web: the member does not serve cert-manager.io/v1", time.Hour),
		line("us-5", v1alpha1.StateHealthy, v1alpha1.ReasonDeprecated, "", time.Hour))
	for i := range 3 {
		s.Clusters = append(s.Clusters, line(fmt.Sprintf("us-%d", i+6), v1alpha1.StateHealthy, "", "", time.Hour))
	}
	for i := range s.Clusters {
		s.Placement.Clusters = append(s.Placement.Clusters, s.Clusters[i].Name)
	}
	s.Counts = v1alpha1.ClusterCounts{Placed: new(int32(32)), Updated: new(int32(32)), Healthy: new(int32(4)), Degraded: new(int32(26)),
		Unreachable: new(int32(1)), Progressing: new(int32(1))}
	change(w)
	return w
}

func asIs(*v1alpha1.Federated) {}

// well makes every member of storefront healthy.
func well(w *v1alpha1.Federated) {
	for i := range w.Status.Clusters {
		l := &w.Status.Clusters[i]
		l.State, l.Reason, l.Message = v1alpha1.StateHealthy, "", ""
	}
	w.Status.Counts = v1alpha1.ClusterCounts{Placed: new(int32(32)), Healthy: new(int32(32))}
}

// newEvents returns 12 events of storefront. The newest has the form that events.k8s.io gives a repeated event.
func newEvents() []client.Object {
	out := []client.Object{&corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "repeated"}, InvolvedObject: corev1.ObjectReference{UID: "u"},
		Type: corev1.EventTypeWarning, Reason: "ImagePullBackOff", Message: "8 of 32 clusters are healthy; de-01 is Degraded: Deployment web: its image cannot be pulled",
		EventTime: metav1.NewMicroTime(now.Add(-time.Hour)), Series: &corev1.EventSeries{Count: 3, LastObservedTime: metav1.NewMicroTime(now.Add(-time.Minute))}}}
	for i := range 10 {
		out = append(out, &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprint("e", i)}, InvolvedObject: corev1.ObjectReference{UID: "u"},
			Type: corev1.EventTypeNormal, Reason: "WaveBegan", Message: fmt.Sprintf("wave w%d begins", i), EventTime: metav1.NewMicroTime(now.Add(-time.Duration(i+2) * time.Hour))})
	}
	return append(out,
		&corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "old"}, InvolvedObject: corev1.ObjectReference{UID: "u"}, Reason: "Old",
			LastTimestamp: ago(240 * time.Hour), Count: 2},
		&corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "other"}, InvolvedObject: corev1.ObjectReference{UID: "x"}, Reason: "Other"})
}

type result struct {
	stdout string
	err    error
}

// hostWith returns a client for a fake host. It fails the test if the command lists anything but wrappers, MemberReports and
// events.
func hostWith(t *testing.T, broken error, objects ...client.Object) client.WithWatch {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(v1alpha1.AddToScheme(scheme), corev1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithIndex(&corev1.Event{}, evidence.FieldUID, func(o client.Object) []string { return []string{string(o.(*corev1.Event).InvolvedObject.UID)} }).
		WithInterceptorFuncs(interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if _, ok := list.(*corev1.EventList); ok {
				if broken != nil {
					return broken
				}
			} else if kind := list.GetObjectKind().GroupVersionKind().Kind; !strings.HasSuffix(kind, "FederatedList") && kind != "MemberReportList" {
				t.Errorf("the command lists %T %s", list, kind)
			}
			return c.List(ctx, list, opts...)
		}}).Build()
}

func describeWith(t *testing.T, host client.WithWatch, to screen.Screen, args ...string) result {
	t.Helper()
	t.Setenv("KUBECONFIG", "testdata/kubeconfig.yaml")
	var out bytes.Buffer
	o := newOptions(genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out})
	o.Connect = func() (client.WithWatch, error) { return host, nil }
	o.Now, o.Screen = func() time.Time { return now }, func() screen.Screen { return to }
	cmd := newCommand(o)
	cmd.SetArgs(args)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err := cmd.ExecuteContext(t.Context())
	return result{out.String(), err}
}

func TestTheCausesWithTheirMembersEvidenceAndNextSteps(t *testing.T) {
	web := []string{"storefront", "-n", "shop"}
	for file, test := range map[string]struct {
		to   screen.Screen
		args []string
	}{
		"pipe.txt":         {screen.Screen{}, web},
		"80-columns.txt":   {screen.Screen{Width: 80}, web},
		"colors.txt":       {screen.Screen{Width: 80, Colored: true}, web},
		"all-members.txt":  {screen.Screen{Width: 80}, append(web, "--all-members")},
		"clusters.txt":     {screen.Screen{Width: 80}, append(web, "--cluster", "us-6,us-2", "--cluster", "de-02")},
		"description.json": {screen.Screen{Width: 80, Colored: true}, append(web, "-o", "json", "--cluster", "de-01,us-4,us-7")},
		"description.yaml": {screen.Screen{}, append(web, "-o", "yaml", "--cluster", "de-01,us-4,us-7")},
	} {
		t.Run(file, func(t *testing.T) {
			got := describeWith(t, hostWith(t, nil, append(newEvents(), storefront(asIs))...), test.to, test.args...)
			if exit.CodeOf(got.err) != exit.Waits || !exit.Silent(got.err) {
				t.Errorf("members are Degraded, and the command returns %v", got.err)
			}
			golden.Equal(t, file, got.stdout)
			if file != "80-columns.txt" && file != "all-members.txt" && file != "clusters.txt" {
				return
			}
			for l := range strings.Lines(got.stdout) {
				if n := utf8.RuneCountInString(strings.TrimRight(l, "\n")); n > 80 {
					t.Errorf("%d characters: %s", n, l)
				}
			}
		})
	}
}

func TestTheStateOfTheWrapperHasALineAndAnExitCode(t *testing.T) {
	rollout := func(state v1alpha1.RolloutState, waitingFor string) func(*v1alpha1.Federated) {
		return func(w *v1alpha1.Federated) {
			well(w)
			w.Spec.Rollout.Waves = []v1alpha1.RolloutWave{build.Wave("canary", "de-01")}
			w.Status.Rollout = v1alpha1.RolloutStatus{ID: "1", Revision: "fed-storefront-2", State: state, Wave: "canary", WaitingFor: waitingFor}
			if state == v1alpha1.RolloutPaused {
				w.Status.Rollout.Failure = v1alpha1.RolloutFailure{Revision: "fed-storefront-2", Wave: "canary", Cluster: "de-01", Reason: "NotReady", Count: 1}
			}
		}
	}
	for name, test := range map[string]struct {
		change func(*v1alpha1.Federated)
		code   int
		says   []string
	}{
		"healthy": {well, exit.Done, []string{"Healthy: 32 of 32 members", "healthy: 32 members"}},
		"without a status": {func(w *v1alpha1.Federated) { w.Status = v1alpha1.WrapperStatus{} }, exit.Done,
			[]string{"not acted on yet", "• the host's manager has not acted on this wrapper yet"}},
		"with the status of an earlier spec": {func(w *v1alpha1.Federated) { well(w); w.Generation++ }, exit.Done, []string{"• the host's manager has not acted on the present spec yet"}},
		"being deleted": {func(w *v1alpha1.Federated) {
			well(w)
			w.DeletionTimestamp, w.Finalizers = new(ago(time.Minute)), []string{"federation.fairlead.dev/x"}
			w.Status.Conditions = []metav1.Condition{condition("Ready", "False", v1alpha1.ReasonDeleting, "the wrapper is still leaving 1 cluster (us-1)"),
				condition("Placed", "False", v1alpha1.ReasonNoClusterMatches, "")}
			w.Status.Clusters = []v1alpha1.ClusterStatus{line("us-1", v1alpha1.StateRemoving, v1alpha1.ReasonLeaving, "", time.Minute)}
		}, exit.Done, []string{"being deleted", "• the wrapper is being deleted: the wrapper is still leaving 1 cluster (us-1)", "1. Leaving on 1 member, Removing: us-1"}},
		"suspended": {func(w *v1alpha1.Federated) { well(w); w.Spec.Suspend = v1alpha1.SuspendAll }, exit.Done, []string{"• spec.suspend is All"}},
		"suspended, with changes that wait": {func(w *v1alpha1.Federated) {
			well(w)
			w.Spec.Suspend = v1alpha1.SuspendAll
			w.Status.Clusters[0] = line("de-01", v1alpha1.StateHeld, v1alpha1.ReasonSuspended, "changes wait", 0)
		}, exit.Waits, []string{"Held: 1 of 32 members, for 0s", "1. Suspended on 1 member, Held: de-01"}},
		"with a rollout under way": {rollout(v1alpha1.RolloutProgressing, v1alpha1.ReasonWaveSoaking), exit.Done,
			[]string{"• the rollout of fed-storefront-2 is Progressing in wave canary: ", "(WaveSoaking); see `hostctl rollout status storefront -n shop`"}},
		"with a rollout that waits for an approval": {rollout(v1alpha1.RolloutProgressing, v1alpha1.ReasonWaveNeedsApproval), exit.Waits,
			[]string{"✗ the rollout of fed-storefront-2 is Progressing in wave canary: `hostctl approve storefront -n shop --wave canary` lets wave canary begin (WaveNeedsApproval); see"}},
		"with a rollout that has failed": {rollout(v1alpha1.RolloutPaused, v1alpha1.ReasonRolloutStopped), exit.Waits,
			[]string{"✗ the rollout of fed-storefront-2 is Paused in wave canary: fed-storefront-2 failed in wave canary on cluster de-01 (NotReady)"}},
		"with a rollout that is complete": {rollout(v1alpha1.RolloutComplete, ""), exit.Done, []string{"Healthy: 32 of 32 members"}},
		"with a suspended rollout": {func(w *v1alpha1.Federated) {
			rollout(v1alpha1.RolloutProgressing, v1alpha1.ReasonSuspended)(w)
			w.Spec.Suspend = v1alpha1.SuspendRollout
		}, exit.Waits, []string{"• spec.suspend is Rollout: no further wave begins until it is None", "(Suspended)"}},
		"with members that have no line": {func(w *v1alpha1.Federated) {
			well(w)
			w.Status.ClustersOmitted = 7
			w.Status.ClustersOmittedByState = []v1alpha1.OmittedClusters{{State: v1alpha1.StateHealthy, Count: 4}, {State: v1alpha1.StatePushing, Count: 3}}
		}, exit.Done, []string{"• 7 more members have no line in the status: 4 Healthy, 3 Pushing", "Healthy: 36 of 39 members"}},
		"placed nowhere": {func(w *v1alpha1.Federated) {
			w.Status.Clusters, w.Status.Counts = nil, v1alpha1.ClusterCounts{Placed: new(int32(0))}
			w.Status.Conditions = []metav1.Condition{condition("Placed", "False", v1alpha1.ReasonNoClusterMatches, "spec.placement.clusters selects none of the 3 members")}
		}, exit.Waits, []string{"Stalled: NoClusterMatches", "placed on 0", "1. NoClusterMatches\n   spec.placement.clusters selects none of the 3 members\n   next: compare"}},
		"with a version that waits": {func(w *v1alpha1.Federated) {
			well(w)
			w.Status.Upgrade.Subscriptions = []v1alpha1.SubscriptionVersion{{Name: "db", Reason: v1alpha1.ReasonVersionsDiffer, Message: "a has 1, b has 2"}}
		}, exit.Done, []string{"• Subscription db: the manager takes no newer version: a has 1, b has 2 (VersionsDiffer)"}},
		"with a member past its deadline": {func(w *v1alpha1.Federated) {
			well(w)
			w.Status.Clusters[0] = line("de-01", v1alpha1.StateProgressing, "InProgress", "StatefulSet db: 1 of 3", time.Hour)
			w.Status.Conditions = append(w.Status.Conditions, condition(v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonProgressDeadlineExceeded,
				"de-01 has been Progressing since 2026-01-02T02:04:05Z, longer than its deadline of 10m: StatefulSet db: 1 of 3"))
		}, exit.Waits, []string{"Progressing: 1 of 32 members, for 60m", "✗ a deadline has passed: de-01 has been Progressing since 2026-01-02T02:04:05Z"}},
		"progressing": {func(w *v1alpha1.Federated) {
			well(w)
			w.Status.Clusters[0] = line("de-01", v1alpha1.StatePushing, v1alpha1.ReasonPushing, "", time.Second)
		}, exit.Done, []string{"Pushing: 1 of 32 members, for 1s", "1. Pushing on 1 member: de-01\n   (de-01, for 1s)\n   next: wait"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := describeWith(t, hostWith(t, nil, storefront(test.change)), screen.Screen{}, "storefront", "-n", "shop")
			if exit.CodeOf(got.err) != test.code {
				t.Errorf("returned %v, want code %d", got.err, test.code)
			}
			for _, says := range append(test.says, "events: none") {
				if !strings.Contains(got.stdout, says) {
					t.Errorf("does not say %q:\n%s", says, got.stdout)
				}
			}
		})
	}
}

func TestWithClusterTheExitCodeIsThatOfTheClusters(t *testing.T) {
	got := describeWith(t, hostWith(t, nil, storefront(asIs)), screen.Screen{}, "storefront", "-n", "shop", "--cluster", "us-6")
	if got.err != nil || !strings.Contains(got.stdout, "us-6: Healthy, for 60m") || strings.Contains(got.stdout, "us-7") {
		t.Errorf("us-6 is healthy: %v\n%s", got.err, got.stdout)
	}
	omitted := storefront(func(w *v1alpha1.Federated) { w.Status.Placement.Clusters = append(w.Status.Placement.Clusters, "us-9") })
	got = describeWith(t, hostWith(t, nil, omitted), screen.Screen{}, "storefront", "-n", "shop", "--cluster", "us-9")
	if got.err != nil || !strings.Contains(got.stdout, "• us-9 has the wrapper, and no line in the status") || strings.Contains(got.stdout, "1. ") {
		t.Errorf("us-9 has no line: %v\n%s", got.err, got.stdout)
	}
}

func TestNamesAndKinds(t *testing.T) {
	fast := build.ClusterFederated("fast").Obj()
	fast.UID = "c"
	happened := &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "x"}, InvolvedObject: corev1.ObjectReference{UID: "c"}, Reason: "Happened"}
	for name, args := range map[string][]string{"cfed/fast": {"cfed/fast"}, "cfed fast": {"cfed", "fast"}, "clusterfederated fast": {"ClusterFederated", "fast"}} {
		t.Run(name, func(t *testing.T) {
			got := describeWith(t, hostWith(t, nil, fast, happened), screen.Screen{}, args...)
			if got.err != nil || !strings.HasPrefix(got.stdout, "ClusterFederated fast  ") || !strings.Contains(got.stdout, "Happened") {
				t.Errorf("%v:\n%s", got.err, got.stdout)
			}
		})
	}
	for name, args := range map[string][]string{"the namespace of the kubeconfig": {"storefront"}, "fed NAME": {"fed", "storefront", "-n", "shop"}} {
		t.Run(name, func(t *testing.T) {
			if got := describeWith(t, hostWith(t, nil, storefront(well)), screen.Screen{}, args...); got.err != nil {
				t.Error(got.err)
			}
		})
	}
}

func TestDescribeRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		code int
		says string
	}{
		"a wrapper that is not there": {[]string{"storefrnt", "-n", "shop"}, exit.Failed,
			"there is no Federated storefrnt in namespace shop (for another namespace give -n NAMESPACE, for a ClusterFederated cfed/NAME); similar names: storefront"},
		"a name that no other is similar to": {[]string{"x", "-n", "shop"}, exit.Failed, "there is no Federated x in namespace shop (for another namespace give -n NAMESPACE, for a ClusterFederated cfed/NAME)"},
		"a kind that is none":                {[]string{"deploy", "web"}, exit.Usage, `"deploy/web": give NAME for a Federated, cfed/NAME for a ClusterFederated`},
		"a kind twice":                       {[]string{"fed", "fed/web"}, exit.Usage, `"fed/fed/web" is not the name of a wrapper`},
		"a format that is none":              {[]string{"web", "-o", "xml"}, exit.Usage, `--output "xml": give json or yaml`},
		"a cluster that does not have the wrapper": {[]string{"storefront", "-n", "shop", "--cluster", "fr-1"}, exit.Usage,
			"--cluster fr-1: Federated shop/storefront is not on this member; it is on de-01, de-02"},
	} {
		t.Run(name, func(t *testing.T) {
			got := describeWith(t, hostWith(t, nil, storefront(asIs)), screen.Screen{}, test.args...)
			if exit.CodeOf(got.err) != test.code || !strings.HasPrefix(got.err.Error(), test.says) || got.stdout != "" {
				t.Errorf("got %d %v, want %d and %q; printed %q", exit.CodeOf(got.err), got.err, test.code, test.says, got.stdout)
			}
		})
	}
}

func TestEventsThatCannotBeReadAreToldAndTheRestIsShown(t *testing.T) {
	for says, broken := range map[string]error{
		"events: not shown, because your account may not list events in namespace shop (ClusterRole fairlead-oncall grants it)\n": apierrors.NewForbidden(schema.GroupResource{Resource: "events"}, "", errors.New("no")),
		"events: not read: the host is slow": errors.New("the host\n is \x1b[31mslow"),
	} {
		got := describeWith(t, hostWith(t, broken, storefront(well)), screen.Screen{}, "storefront", "-n", "shop")
		if got.err != nil || !strings.Contains(got.stdout, strings.Replace(says, "slow", "", 1)) {
			t.Errorf("%v, want %q in:\n%s", got.err, says, got.stdout)
		}
	}
}

// A member can write any text into its status. No character of it may control the terminal.
func TestNoTextOfAMemberControlsTheTerminal(t *testing.T) {
	const bad = "x\x1b[2J\u009b31m\u202ey\r\nz\x7f"
	hostile := storefront(func(w *v1alpha1.Federated) {
		w.Spec.Rollout.Waves = []v1alpha1.RolloutWave{build.Wave("canary")}
		s := &w.Status
		s.UpdateRevision = bad
		s.Conditions = []metav1.Condition{condition("Placed", "False", bad, bad)}
		s.Rollout = v1alpha1.RolloutStatus{ID: bad, Revision: bad, State: v1alpha1.RolloutPaused, Wave: bad, WaitingFor: bad, Failure: v1alpha1.RolloutFailure{Reason: bad, Cluster: bad}}
		s.Upgrade.Subscriptions = []v1alpha1.SubscriptionVersion{{Name: bad, CSV: bad, Reason: bad, Message: bad}}
		s.Clusters = []v1alpha1.ClusterStatus{{Name: bad, State: v1alpha1.StateDegraded, Reason: bad, Message: bad, Revision: bad, Version: bad},
			{Name: "b", State: v1alpha1.StateHealthy, Reason: bad, Message: bad}, {Name: "c", State: bad}}
		s.ClustersOmitted, s.ClustersOmittedByState = 1, []v1alpha1.OmittedClusters{{State: bad, Count: 1}}
	})
	event := &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "e"}, InvolvedObject: corev1.ObjectReference{UID: "u"}, Type: bad, Reason: bad, Message: bad}
	for _, args := range [][]string{{}, {"--all-members"}, {"--cluster", "b"}, {"-o", "json"}, {"-o", "yaml"}} {
		got := describeWith(t, hostWith(t, nil, hostile, event), screen.Screen{Width: 80}, append(args, "storefront", "-n", "shop")...)
		if !strings.Contains(got.stdout, "x[2J31myz") && !strings.Contains(got.stdout, "x[2J31my z") {
			t.Errorf("%v: the text of the member is not there (%v):\n%s", args, got.err, got.stdout)
		}
		for _, r := range got.stdout {
			if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
				t.Errorf("%v: the output has %U", args, r)
			}
		}
		if strings.Contains(got.stdout, `\u00`) || strings.Contains(got.stdout, `\x`) {
			t.Errorf("%v: an escaped control character is in the output", args)
		}
	}
}

func TestTheClustersOfTheWrapperAreCompleted(t *testing.T) {
	t.Setenv("KUBECONFIG", "testdata/kubeconfig.yaml")
	o := newOptions(genericiooptions.IOStreams{Out: &bytes.Buffer{}})
	o.Connect = func() (client.WithWatch, error) { return hostWith(t, nil, storefront(asIs)), nil }
	cmd := newCommand(o)
	cmd.SetContext(t.Context())
	completion, _ := cmd.GetFlagCompletionFunc("cluster")
	got, _ := completion(cmd, []string{"storefront"}, "us-1,us-4")
	if diff := cmp.Diff([]cobra.Completion{"us-1,us-4"}, got); diff != "" {
		t.Error(diff)
	}
	if got, _ := completion(cmd, nil, ""); len(got) > 0 {
		t.Errorf("without a wrapper it completes %v", got)
	}
}

func TestAPipeHasNoColors(t *testing.T) {
	if got := screen.Of(&bytes.Buffer{}); got != (screen.Screen{}) {
		t.Errorf("got %+v", got)
	}
}
