// SPDX-License-Identifier: Apache-2.0

package events

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
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

// web returns a wrapper on five members: eu-1 to eu-3 cannot pull an image, us-1 is Unreachable, and us-2 has no line yet.
func web() *v1alpha1.Federated {
	w := build.Federated("web").In("shop").To("eu-1").With(build.Manifest(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}}`)).Obj()
	w.UID, w.Generation = "u", 1
	s := &w.Status
	s.ObservedGeneration = 1
	for _, name := range []string{"eu-1", "eu-2", "eu-3", "us-1"} {
		s.Placement.Clusters = append(s.Placement.Clusters, name)
		s.Clusters = append(s.Clusters, v1alpha1.ClusterStatus{Name: name, State: v1alpha1.StateDegraded, Reason: "ImagePullBackOff", LastTransitionTime: ago(4 * time.Minute)})
	}
	s.Placement.Clusters = append(s.Placement.Clusters, "us-2")
	s.Clusters[3].State, s.Clusters[3].Reason = v1alpha1.StateUnreachable, v1alpha1.ReasonUnreachable
	return w
}

// pull is the report about web on eu-1, eu-2 and eu-3. Its last event is ten minutes later than the report: the member's clock is ahead.
func pull() *v1alpha1.MemberReport {
	r := build.MemberReport(web(), "1111111111", "Deployment", "web", "ImagePullBackOff", "eu-1", "eu-2", "eu-3")
	r.Status.ObservedTime = ago(12 * time.Second)
	r.Status.Events = []v1alpha1.ObservedEvent{
		{Kind: "Pod", Name: "web-7d9f8b6c5-abcde", Type: "Normal", Reason: "Scheduled", Message: "Successfully assigned shop/web-7d9f8b6c5-abcde to node-1", Count: 1, LastTime: ago(4 * time.Minute)},
		{Kind: "Pod", Name: "web-7d9f8b6c5-abcde", Type: "Warning", Reason: "Failed", Count: 7, LastTime: ago(-10 * time.Minute),
			Message: `Failed to pull image "registry.example.com/shop/web:1.2.4": rpc error: code = NotFound desc = failed to pull and unpack image: not found`},
		{Kind: "ReplicaSet", Name: "web-7d9f8b6c5", Type: "Normal", Reason: "SuccessfulCreate", Message: "Created pod: web-7d9f8b6c5-abcde", Count: 1, LastTime: ago(-5 * time.Minute)},
	}
	return r
}

func claim() *v1alpha1.MemberReport {
	r := build.MemberReport(web(), "2222222222", "PersistentVolumeClaim", "data", "ClassNotFound", "us-1")
	r.Status.ObservedTime = ago(30 * time.Minute)
	r.Status.Events = []v1alpha1.ObservedEvent{{Kind: "PersistentVolumeClaim", Name: "data", Type: "Warning", Reason: "ProvisioningFailed",
		Message: `storageclass.storage.k8s.io "fast" not found`, Count: 40, LastTime: ago(31 * time.Minute)}}
	return r
}

func hostEvent(name string, uid types.UID, seen time.Duration, reason, message string) *corev1.Event {
	return &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, InvolvedObject: corev1.ObjectReference{UID: uid}, Type: "Warning",
		Reason: reason, Message: message, LastTimestamp: ago(seen), Count: 3}
}

// objects are all objects of the host, with a report of another wrapper and an event of another object.
func objects() []client.Object {
	stranger := build.Federated("other").In("shop").Obj()
	stranger.UID = "o"
	return []client.Object{web(), pull(), claim(), build.MemberReport(stranger, "3333333333", "Deployment", "other", "NotReady", "eu-1"),
		hostEvent("e1", "u", 3*time.Minute, "ImagePullBackOff", "1 of 4 clusters is healthy; eu-1 is Degraded"), hostEvent("e2", "o", time.Minute, "Other", "of another object")}
}

// hostWith returns a client for a fake host. It fails the test if the command asks for more than a person on call may read, and if it
// lists more of the reports than their metadata.
func hostWith(t *testing.T, broken func(client.ObjectList) error, objects ...client.Object) client.WithWatch {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(v1alpha1.AddToScheme(scheme), corev1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithIndex(&corev1.Event{}, evidence.FieldUID, func(o client.Object) []string { return []string{string(o.(*corev1.Event).InvolvedObject.UID)} }).
		WithInterceptorFuncs(interceptor.Funcs{
			List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
				switch list.(type) {
				case *corev1.EventList, *metav1.PartialObjectMetadataList:
				default:
					t.Errorf("the command lists %T", list)
				}
				if broken != nil {
					if err := broken(list); err != nil {
						return err
					}
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

// forbid returns a function that answers Forbidden to lists of reports, of events, or of both.
func forbid(reports, events bool) func(client.ObjectList) error {
	return func(list client.ObjectList) error {
		_, event := list.(*corev1.EventList)
		if event && events || !event && reports {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "x"}, "", errors.New("no"))
		}
		return nil
	}
}

type result struct {
	stdout, stderr string
	err            error
}

func newTest(host client.WithWatch, to screen.Screen) (*Options, *bytes.Buffer, *bytes.Buffer) {
	var out, said bytes.Buffer
	o := newOptions(genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &said})
	o.Connect = func() (client.WithWatch, error) { return host, nil }
	o.Now, o.Screen = func() time.Time { return now }, func() screen.Screen { return to }
	return o, &out, &said
}

func eventsWith(t *testing.T, host client.WithWatch, to screen.Screen, args ...string) result {
	t.Helper()
	t.Setenv("KUBECONFIG", "testdata/kubeconfig.yaml")
	o, out, said := newTest(host, to)
	cmd := newCommand(o)
	cmd.SetArgs(args)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err := cmd.ExecuteContext(t.Context())
	return result{out.String(), said.String(), err}
}

func TestTheEventsOfHostAndMembersInTheOrderOfTime(t *testing.T) {
	for file, test := range map[string]struct {
		to   screen.Screen
		args []string
	}{
		"pipe.txt":        {screen.Screen{}, nil},
		"80-columns.txt":  {screen.Screen{Width: 80}, nil},
		"140-columns.txt": {screen.Screen{Width: 140}, nil},
		"colors.txt":      {screen.Screen{Width: 140, Colored: true}, nil},
		"cluster.txt":     {screen.Screen{}, []string{"--cluster", "eu-3"}},
		"events.json":     {screen.Screen{Width: 80, Colored: true}, []string{"-o", "json"}},
		"events.yaml":     {screen.Screen{}, []string{"-o", "yaml", "--cluster", "us-1"}},
	} {
		t.Run(file, func(t *testing.T) {
			got := eventsWith(t, hostWith(t, nil, objects()...), test.to, append(test.args, "web", "-n", "shop")...)
			if got.err != nil {
				t.Error(got.err)
			}
			golden.Equal(t, file, got.stdout)
			if strings.Contains(got.stdout, "\t") {
				t.Error("the columns have tabs")
			}
			wants := ""
			if !strings.HasPrefix(file, "cluster") && !strings.HasPrefix(file, "events") {
				wants = "us-1 is Unreachable, for 4m: its events are from before that\n"
			}
			if got.stderr != wants {
				t.Errorf("stderr has %q, want %q", got.stderr, wants)
			}
		})
	}
}

func TestMembersThatTheManagerCannotReachAreTold(t *testing.T) {
	for name, test := range map[string]struct {
		lost int // the line of the member in the status
		args []string
		says string
	}{
		"the member of the events":                   {0, []string{"--cluster", "eu-2"}, "eu-1 is Unreachable, for 4m: its events are from before that\n"},
		"a chosen member, and the events of another": {2, []string{"--cluster", "eu-3"}, "eu-3 is Unreachable, for 4m: before that, it had the same failure as eu-1\n"},
		"a member with the same that was not chosen": {2, []string{"--cluster", "eu-2"}, ""},
		"a member with the same, without --cluster":  {2, nil, "us-1 is Unreachable, for 4m: its events are from before that\n"},
	} {
		t.Run(name, func(t *testing.T) {
			w := web()
			w.Status.Clusters[test.lost].State = v1alpha1.StateUnreachable
			got := eventsWith(t, hostWith(t, nil, w, pull(), claim()), screen.Screen{}, append(test.args, "web", "-n", "shop")...)
			if got.err != nil || got.stderr != test.says {
				t.Errorf("%v, stderr has %q, want %q", got.err, got.stderr, test.says)
			}
		})
	}
}

func TestMembersThatTheManagerCannotReachAreToldToPrograms(t *testing.T) {
	w := web()
	w.Status.Clusters[2].State, w.Status.Clusters[2].Reason = v1alpha1.StateUnreachable, v1alpha1.ReasonUnauthorized
	older := claim()
	older.Name, older.Status.Object.Name, older.Status.ObservedTime = "web.3333333333", "more", ago(time.Hour)
	for name, test := range map[string]struct {
		args []string
		want []unreachable
	}{
		"without --cluster": {nil, []unreachable{{Cluster: "us-1", Reason: v1alpha1.ReasonUnreachable, Since: ago(4 * time.Minute), ObservedTime: ago(30 * time.Minute)}}},
		"a chosen member, and the events of another": {[]string{"--cluster", "eu-3"}, []unreachable{
			{Cluster: "eu-3", Reason: v1alpha1.ReasonUnauthorized, Since: ago(4 * time.Minute), SampleCluster: "eu-1", ObservedTime: ago(12 * time.Second)}}},
		"a member that answers": {[]string{"--cluster", "eu-1"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := eventsWith(t, hostWith(t, nil, w.DeepCopy(), pull(), claim(), older), screen.Screen{}, append(test.args, "web", "-n", "shop", "-o", "json")...)
			var out output
			if err := json.Unmarshal([]byte(got.stdout), &out); err != nil {
				t.Fatal(err, got.err)
			}
			if diff := cmp.Diff(test.want, out.Unreachable); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatCannotBeReadIsToldAndTheRestIsShown(t *testing.T) {
	for name, test := range map[string]struct {
		broken         func(client.ObjectList) error
		args           []string
		code           int
		stdout, stderr string
	}{
		"no right on reports": {forbid(true, false), nil, exit.Done, "Federated/web",
			"• events of members: not shown, because your account may not list memberreports in namespace shop (ClusterRole fairlead-oncall grants it)\n"},
		"no right on events": {forbid(false, true), nil, exit.Done, "ProvisioningFailed",
			"• events at the host: not shown, because your account may not list events in namespace shop (ClusterRole fairlead-oncall grants it)\n"},
		"no right on reports, for a program":                       {forbid(true, false), []string{"-o", "json"}, exit.Done, `"reportsError": "not shown, because`, "• events of members: not shown"},
		"no right at all":                                          {forbid(true, true), nil, exit.Failed, "", ""},
		"no right on reports, with a cluster, which has no others": {forbid(true, false), []string{"--cluster", "eu-1"}, exit.Failed, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := eventsWith(t, hostWith(t, test.broken, objects()...), screen.Screen{}, append(test.args, "web", "-n", "shop")...)
			if exit.CodeOf(got.err) != test.code || !strings.Contains(got.stdout, test.stdout) || !strings.HasPrefix(got.stderr, test.stderr) {
				t.Errorf("%v\n%s\n%s", got.err, got.stdout, got.stderr)
			}
			if test.code == exit.Failed && !strings.HasPrefix(got.err.Error(), "events of Federated shop/web: not shown, because your account may not list memberreports") {
				t.Error(got.err)
			}
		})
	}
}

func TestWithoutEventsTheReasonIsTold(t *testing.T) {
	for says, args := range map[string][]string{
		"Federated shop/web has no events: a member sends events only about objects that are not healthy, and the host keeps its own for about an hour\n": nil,
		"Federated shop/web has no events from us-1: a member sends events only about objects that are not healthy\n":                                     {"--cluster", "us-1"},
	} {
		got := eventsWith(t, hostWith(t, nil, web()), screen.Screen{}, append(args, "web", "-n", "shop")...)
		if got.err != nil || got.stdout != "" || got.stderr != says {
			t.Errorf("%v, %q, got %q, want %q", got.err, got.stdout, got.stderr, says)
		}
	}
}

func TestSinceLeavesOlderEventsOut(t *testing.T) {
	host := hostWith(t, nil, objects()...) // the events are 12 s, 3 min, 4 min and 31 min old, one of them by the time of its report
	got := eventsWith(t, host, screen.Screen{}, "web", "-n", "shop", "--since", "3m")
	if got.err != nil || !strings.Contains(got.stdout, "Failed to pull image") || !strings.Contains(got.stdout, "Federated/web") {
		t.Errorf("%v:\n%s", got.err, got.stdout)
	}
	for _, old := range []string{"Successfully assigned", "ProvisioningFailed"} {
		if strings.Contains(got.stdout, old) {
			t.Errorf("shows %q, which is older than three minutes:\n%s", old, got.stdout)
		}
	}
	got = eventsWith(t, host, screen.Screen{}, "web", "-n", "shop", "--since", "1m", "--cluster", "us-1")
	if want := "Federated shop/web has no events of the last 60s; --since leaves out 1 older\n"; got.stdout != "" || !strings.HasSuffix(got.stderr, want) {
		t.Errorf("%q on standard error, want %q; printed %q", got.stderr, want, got.stdout)
	}
}

func TestEventsRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		code int
		says string
	}{
		"a cluster without the wrapper": {[]string{"web", "--cluster", "fr-1"}, exit.Usage, "--cluster fr-1: Federated shop/web is not on this member; it is on eu-1, eu-2, eu-3, us-1"},
		"a wrapper that is not there":   {[]string{"wob"}, exit.Failed, "there is no Federated wob in namespace shop"},
		"a format that is none":         {[]string{"web", "-o", "xml"}, exit.Usage, `--output "xml": give json or yaml`},
		"a time in the future":          {[]string{"web", "--since", "-5m"}, exit.Usage, "--since -5m0s: give a time in the past as a positive duration, for example 10m"},
	} {
		t.Run(name, func(t *testing.T) {
			scheme := hostWith(t, nil, objects()...)
			got := eventsWith(t, interceptor.NewClient(scheme, interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
				return c.List(ctx, list, opts...)
			}}), screen.Screen{}, append(test.args, "-n", "shop")...)
			if exit.CodeOf(got.err) != test.code || !strings.HasPrefix(got.err.Error(), test.says) || got.stdout != "" {
				t.Errorf("got %d %v, want %d and %q; printed %q", exit.CodeOf(got.err), got.err, test.code, test.says, got.stdout)
			}
		})
	}
}

func TestTheEventsOfAClusterFederated(t *testing.T) {
	w := build.ClusterFederated("web").To("eu-1").Obj()
	w.UID = "u"
	r := build.MemberReport(w, "1111111111", "DaemonSet", "agent", "NotReady", "eu-1")
	r.Status.Events = []v1alpha1.ObservedEvent{{Kind: "Pod", Name: "agent-1", Type: "Warning", Reason: "BackOff", Count: 1, LastTime: ago(0)}}
	e := hostEvent("e", "u", time.Minute, "Happened", "at the host")
	e.Namespace = "default"
	got := eventsWith(t, hostWith(t, nil, w, r, e), screen.Screen{}, "cfed/web")
	if got.err != nil || !strings.Contains(got.stdout, "ClusterFederated/web") || !strings.Contains(got.stdout, "Pod/agent-1") {
		t.Errorf("%v:\n%s", got.err, got.stdout)
	}
}

// A member can write any text into its evidence. No character of it may control the terminal.
func TestNoEventControlsTheTerminal(t *testing.T) {
	const bad = "x\x1b[2J\u009b31m\u202ey\r\nz\x7f"
	r := build.MemberReport(web(), "1111111111", bad, bad, bad, bad, bad, "b"+bad)
	r.Status.Events = []v1alpha1.ObservedEvent{{Kind: bad, Name: bad, Type: bad, Reason: bad, Message: bad, Count: 1, LastTime: ago(0)}}
	e := hostEvent("e", "u", time.Minute, bad, bad)
	e.Type = bad
	for _, args := range [][]string{{}, {"-o", "json"}, {"-o", "yaml"}} {
		got := eventsWith(t, hostWith(t, nil, web(), r, e), screen.Screen{Width: 80}, append(args, "web", "-n", "shop")...)
		if strings.Count(got.stdout, "x[2J31my z") < 8 {
			t.Errorf("%v: the texts of the member are not there (%v):\n%s", args, got.err, got.stdout)
		}
		for _, r := range got.stdout + got.stderr {
			if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
				t.Errorf("%v: the output has %U", args, r)
			}
		}
	}
}

func TestTheClustersOfTheWrapperAreCompleted(t *testing.T) {
	t.Setenv("KUBECONFIG", "testdata/kubeconfig.yaml")
	o, _, _ := newTest(hostWith(t, nil, objects()...), screen.Screen{})
	cmd := newCommand(o)
	cmd.SetContext(t.Context())
	complete, _ := cmd.GetFlagCompletionFunc("cluster")
	got, _ := complete(cmd, []string{"web"}, "eu")
	if diff := cmp.Diff([]string{"eu-1", "eu-2", "eu-3"}, append([]string(nil), got...)); diff != "" {
		t.Error(diff)
	}
}
