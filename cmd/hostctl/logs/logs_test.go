// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/evidence"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
	"github.com/fairlead-dev/fairlead/internal/testing/golden"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func ago(d time.Duration) metav1.Time { return metav1.NewTime(now.Add(-d)) }

// web returns a wrapper on five members: web crashes on eu-1 to eu-3, us-1 is over its quota, and us-2 is healthy.
func web(change func(*v1alpha1.Federated)) *v1alpha1.Federated {
	w := build.Federated("web").In("shop").To("eu-1").With(deployment("web"), deployment("cache"), build.ConfigMap("settings")).Obj()
	w.UID, w.Generation = "u", 1
	s := &w.Status
	s.ObservedGeneration = 1
	line := func(name string, state v1alpha1.ClusterState, reason, message string) v1alpha1.ClusterStatus {
		return v1alpha1.ClusterStatus{Name: name, State: state, Reason: reason, Message: message, LastTransitionTime: ago(3 * time.Minute)}
	}
	crash := "Deployment web: pod web-7d9f8b6c5-abcde: container app has crashed 7 times: exit code 2"
	s.Clusters = []v1alpha1.ClusterStatus{
		line("eu-1", v1alpha1.StateDegraded, "CrashLoopBackOff", crash), line("eu-2", v1alpha1.StateDegraded, "CrashLoopBackOff", crash),
		line("eu-3", v1alpha1.StateDegraded, "CrashLoopBackOff", crash),
		line("us-1", v1alpha1.StateDegraded, "QuotaExceeded", "Deployment cache: exceeded quota: pods"), line("us-2", v1alpha1.StateHealthy, "", "")}
	for i := range s.Clusters {
		s.Placement.Clusters = append(s.Placement.Clusters, s.Clusters[i].Name)
	}
	change(w)
	return w
}

func deployment(name string) *unstructured.Unstructured {
	return build.Manifest(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: %s}}`, name)
}

func asIs(*v1alpha1.Federated) {}

func well(w *v1alpha1.Federated) {
	for i := range w.Status.Clusters {
		l := &w.Status.Clusters[i]
		l.State, l.Reason, l.Message = v1alpha1.StateHealthy, "", ""
	}
}

func lost(w *v1alpha1.Federated) {
	l := &w.Status.Clusters[0]
	l.State, l.Reason, l.Message = v1alpha1.StateUnreachable, v1alpha1.ReasonUnreachable, "dial tcp 10.0.0.1:6443: connect: connection refused"
}

// crash is the report about web on eu-1, eu-2 and eu-3.
func crash() *v1alpha1.MemberReport {
	r := build.MemberReport(web(asIs), "1111111111", "Deployment", "web", "CrashLoopBackOff", "eu-1", "eu-2", "eu-3")
	r.Status.ObservedTime = ago(12 * time.Second)
	r.Status.Containers = []v1alpha1.ObservedContainer{
		{Pod: "web-7d9f8b6c5-abcde", Name: "app", State: "Waiting", Reason: "CrashLoopBackOff", Restarts: 7,
			Log:         "reading /etc/web/config\npanic: DATABASE_URL is not set\n\ngoroutine 1 [running]:\n\tmain.main()\n",
			PreviousLog: "reading /etc/web/config\npanic: no route to db\n"},
		{Pod: "web-7d9f8b6c5-abcde", Name: "proxy", State: "Waiting", Reason: "ImagePullBackOff"},
	}
	return r
}

// quota is the report about cache on us-1, where no pod exists.
func quota() *v1alpha1.MemberReport {
	r := build.MemberReport(web(asIs), "2222222222", "Deployment", "cache", "QuotaExceeded", "us-1")
	r.Status.ObservedTime = ago(time.Minute)
	r.Status.Events = []v1alpha1.ObservedEvent{{Kind: "ReplicaSet", Name: "cache-1", Type: "Warning", Reason: "FailedCreate", Message: "exceeded quota", Count: 3, LastTime: ago(0)}}
	return r
}

// hostWith returns a client for a fake host. It fails the test if the command asks for more than wrappers and MemberReports, and if it
// lists more of the reports than their metadata.
func hostWith(t *testing.T, broken error, objects ...client.Object) client.WithWatch {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(v1alpha1.AddToScheme(scheme), corev1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if _, ok := list.(*metav1.PartialObjectMetadataList); !ok {
				t.Errorf("the command lists %T, and not only metadata", list)
			}
			if list.GetObjectKind().GroupVersionKind().Kind == "MemberReportList" && broken != nil {
				return broken
			}
			return c.List(ctx, list, opts...)
		},
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			if _, ok := obj.(*v1alpha1.MemberReport); ok && !strings.HasPrefix(key.Name, "web.") && !strings.HasPrefix(key.Name, "web-") {
				t.Errorf("the command reads the report %s of another wrapper", key)
			}
			return c.Get(ctx, key, obj, opts...)
		}}).Build()
}

type result struct {
	stdout, stderr string
	err            error
}

func newTest(host client.WithWatch) (*Options, *bytes.Buffer, *bytes.Buffer) {
	var out, said bytes.Buffer
	o := &Options{Target: evidence.NewTarget(genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &said})}
	o.Connect = func() (client.WithWatch, error) { return host, nil }
	o.Now = func() time.Time { return now }
	return o, &out, &said
}

func logsWith(t *testing.T, host client.WithWatch, args ...string) result {
	t.Helper()
	t.Setenv("KUBECONFIG", "testdata/kubeconfig.yaml")
	o, out, said := newTest(host)
	cmd := newCommand(o)
	cmd.SetArgs(args)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err := cmd.ExecuteContext(t.Context())
	return result{out.String(), said.String(), err}
}

// others are reports that the command must not show: of another wrapper, and of a wrapper with the same name that is gone.
func others() []client.Object {
	other := web(func(w *v1alpha1.Federated) { w.UID = "earlier" })
	stranger := build.Federated("other").In("shop").Obj()
	stranger.UID = "o"
	return []client.Object{build.MemberReport(other, "gone", "Deployment", "old", "NotReady", "eu-1"),
		build.MemberReport(stranger, "3333333333", "Deployment", "other", "NotReady", "eu-1")}
}

func TestTheLogsWithTheirMembersAndAge(t *testing.T) {
	for file, args := range map[string][]string{
		"logs":          {},
		"previous":      {"--previous", "--container", "app"},
		"tail":          {"--tail", "1", "--object", "deployment/web", "-c", "app"},
		"cluster":       {"--cluster", "eu-2,us-2"},
		"none-of-quota": {"--cluster", "us-1"},
		"logs.json":     {"-o", "json"},
		"logs.yaml":     {"-o", "yaml", "--tail", "1", "--object", "Deployment/web"},
	} {
		t.Run(file, func(t *testing.T) {
			got := logsWith(t, hostWith(t, nil, append(others(), web(asIs), crash(), quota())...), append(args, "web", "-n", "shop")...)
			if got.err != nil {
				t.Error(got.err)
			}
			golden.Equal(t, file+".out.txt", got.stdout)
			golden.Equal(t, file+".err.txt", got.stderr)
		})
	}
}

func TestWhatStandsBesideTheLogs(t *testing.T) {
	many := crash()
	many.Status.Clusters, many.Status.ClusterCount = []string{"a", "b", "c", "d", "e", "eu-1", "f"}, 120
	gone := crash()
	gone.Status.Clusters, gone.Status.ClusterCount = []string{"eu-2"}, 1
	other := crash()
	other.Status.Cluster, other.Status.Clusters, other.Status.ClusterCount = "eu-2", []string{"eu-1", "eu-2"}, 2
	for name, test := range map[string]struct {
		wrapper *v1alpha1.Federated
		report  *v1alpha1.MemberReport
		args    []string
		says    string
	}{
		"many members": {web(asIs), many, nil, "eu-1 (and a, b, c, d, e and 114 more show the same): Deployment web: CrashLoopBackOff, received 12s ago\n"},
		"a member that has become healthy": {web(asIs), gone, nil,
			"eu-1 (has recovered; eu-2 still shows it): Deployment web: CrashLoopBackOff, received 12s ago\n"},
		"a member that the manager cannot reach": {web(lost), crash(), nil,
			"received 12s ago; eu-1 is Unreachable, for 3m, so this is what the manager received before\n"},
		"a member that the manager cannot reach, and the log of another": {web(lost), other, []string{"--cluster", "eu-1"},
			"eu-2 (and eu-1 shows the same): Deployment web: CrashLoopBackOff, received 12s ago; eu-1 is Unreachable, for 3m\n"},
		"a container without an earlier run": {web(asIs), crash(), []string{"--previous"},
			"eu-1/web-7d9f8b6c5-abcde/proxy: Waiting, ImagePullBackOff: it has no log of an earlier run; the log without --previous has the last run\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got := logsWith(t, hostWith(t, nil, test.wrapper, test.report), append(test.args, "web", "-n", "shop")...)
			if got.err != nil || !strings.Contains(got.stderr, test.says) {
				t.Errorf("%v, want %q in:\n%s", got.err, test.says, got.stderr)
			}
		})
	}
}

func TestWithoutLogsTheReasonIsTold(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*v1alpha1.Federated)
		args   []string
		says   string
	}{
		"well":         {well, nil, "Federated shop/web has no logs: it is well. A member sends logs only of containers that fail; to ask for other logs, give --object KIND/NAME\n"},
		"not acted on": {func(w *v1alpha1.Federated) { w.Status = v1alpha1.WrapperStatus{} }, nil, "Federated shop/web has no logs: the host's manager has not acted on this wrapper yet\n"},
		"with causes": {asIs, nil, "Federated shop/web has no logs: CrashLoopBackOff on 3 members, QuotaExceeded on 1 member. The members have sent no log of a failing container; " +
			"`hostctl describe web -n shop` shows the causes, and `hostctl events web -n shop` the events\n"},
		"unreachable": {func(w *v1alpha1.Federated) { well(w); lost(w) }, nil, "Federated shop/web has no logs: Unreachable on 1 member. " +
			"The manager has received no log of a failing container, and receives none from a member that it cannot reach; `hostctl describe"},
		"a well member": {asIs, []string{"--cluster", "us-2"}, "us-2: no report about a failing object; it is Healthy, for 3m\nFederated shop/web has no logs: it is well on us-2. A member"},
		"an unreachable member": {lost, []string{"--cluster", "eu-1"}, "eu-1: no report about a failing object; it is Unreachable, for 3m\n" +
			"Federated shop/web has no logs on eu-1: Unreachable on 1 member. The manager"},
	} {
		t.Run(name, func(t *testing.T) {
			got := logsWith(t, hostWith(t, nil, append(others(), web(test.change))...), append(test.args, "web", "-n", "shop")...)
			if got.err != nil || got.stdout != "" || !strings.HasPrefix(got.stderr, test.says) {
				t.Errorf("%v, %q, want %q in:\n%s", got.err, got.stdout, test.says, got.stderr)
			}
		})
	}
}

func TestLogsRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		broken error
		args   []string
		code   int
		says   string
	}{
		"a cluster without the wrapper": {nil, []string{"--cluster", "fr-1"}, exit.Usage,
			"--cluster fr-1: Federated shop/web is not on this member; it is on eu-1, eu-2, eu-3, us-1, us-2"},
		"an object that the wrapper does not have": {nil, []string{"--object", "Deployment/x"}, exit.Usage,
			"--object Deployment/x: Federated shop/web has no such object; it has ConfigMap/settings, Deployment/cache, Deployment/web"},
		"a container that does not fail": {nil, []string{"--container", "x"}, exit.Usage, "--container x: no failing container of Federated shop/web has this name; there are app, proxy"},
		"a format that is none":          {nil, []string{"-o", "xml"}, exit.Usage, `--output "xml": give json or yaml`},
		"a number of lines below -1":     {nil, []string{"--tail", "-2"}, exit.Usage, "--tail -2: give a number of lines"},
		"an account without the right": {apierrors.NewForbidden(schema.GroupResource{Resource: "memberreports"}, "", errors.New("no")), nil, exit.Failed,
			"logs of Federated shop/web: not shown, because your account may not list memberreports in namespace shop (ClusterRole fairlead-oncall grants it)"},
		"a host without the kind": {&meta.NoKindMatchError{}, nil, exit.Failed, "logs of Federated shop/web: not shown, because the host does not have the kind MemberReport yet"},
	} {
		t.Run(name, func(t *testing.T) {
			got := logsWith(t, hostWith(t, test.broken, web(asIs), crash(), quota()), append(test.args, "web", "-n", "shop")...)
			if exit.CodeOf(got.err) != test.code || !strings.HasPrefix(got.err.Error(), test.says) || got.stdout != "" {
				t.Errorf("got %d %v, want %d and %q; printed %q", exit.CodeOf(got.err), got.err, test.code, test.says, got.stdout)
			}
		})
	}
}

func TestTheReportsOfAClusterFederatedAreInFairleadSystem(t *testing.T) {
	w := build.ClusterFederated("web").To("eu-1").Obj()
	w.UID = "u"
	r := build.MemberReport(w, "1111111111", "DaemonSet", "agent", "CrashLoopBackOff", "eu-1")
	r.Status.Containers = []v1alpha1.ObservedContainer{{Pod: "agent-1", Name: "agent", State: "Running", Log: "bye"}}
	got := logsWith(t, hostWith(t, nil, w, r), "cfed/web")
	if got.err != nil || r.Namespace != "fairlead-system" || got.stdout != "[eu-1/agent-1/agent] bye\n" {
		t.Errorf("%v: %q %q", got.err, got.stdout, got.stderr)
	}
}

// A member can write any text into its evidence. No character of it may control the terminal.
func TestNoLogControlsTheTerminal(t *testing.T) {
	const bad = "x\x1b[2J\u009b31m\u202ey\r\u2028z\x7f"
	hostile := build.MemberReport(web(asIs), "1111111111", bad, bad, bad, bad, bad)
	hostile.Status.Message = bad
	hostile.Status.Containers = []v1alpha1.ObservedContainer{
		{Pod: bad, Name: bad, State: bad, Reason: bad, Log: "one\n\t  " + bad + "\n", PreviousLog: bad}, {Pod: bad, Name: bad, State: bad, Reason: bad}}
	for _, args := range [][]string{{}, {"--previous"}, {"-o", "json"}, {"-o", "yaml"}} {
		got := logsWith(t, hostWith(t, nil, web(asIs), hostile), append(args, "web", "-n", "shop")...)
		if !strings.Contains(got.stdout, "x[2J31myz") {
			t.Errorf("%v: the text of the member is not there (%v):\n%s", args, got.err, got.stdout)
		}
		if len(args) == 0 && !strings.Contains(got.stdout, "] \t  x[2J") {
			t.Errorf("the log has lost its indentation:\n%s", got.stdout)
		}
		for _, r := range got.stdout + got.stderr {
			if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028') {
				t.Errorf("%v: the output has %U", args, r)
			}
		}
	}
}

func TestObjectsAndContainersAreCompleted(t *testing.T) {
	t.Setenv("KUBECONFIG", "testdata/kubeconfig.yaml")
	o, _, _ := newTest(hostWith(t, nil, web(asIs), crash(), quota()))
	cmd := newCommand(o)
	cmd.SetContext(t.Context())
	for flag, want := range map[string][]string{"object": {"ConfigMap/settings", "Deployment/cache", "Deployment/web"}, "container": {"app", "proxy"}, "cluster": {"eu-1", "eu-2", "eu-3", "us-1", "us-2"}} {
		complete, _ := cmd.GetFlagCompletionFunc(flag)
		got, _ := complete(cmd, []string{"web"}, "")
		if diff := cmp.Diff(want, append([]string(nil), got...)); diff != "" {
			t.Errorf("--%s: %s", flag, diff)
		}
	}
}
