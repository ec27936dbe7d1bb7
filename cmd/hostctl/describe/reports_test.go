// SPDX-License-Identifier: Apache-2.0

package describe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/screen"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
	"github.com/fairlead-dev/fairlead/internal/testing/golden"
)

// crashing returns a wrapper on four members: its Deployment web crashes on eu-1 and eu-2, us-1 has no quota for cache, and us-2 is healthy.
func crashing(message string) *v1alpha1.Federated {
	return storefront(func(w *v1alpha1.Federated) {
		w.Status.Clusters = []v1alpha1.ClusterStatus{
			line("eu-1", v1alpha1.StateDegraded, "CrashLoopBackOff", message, 3*time.Minute),
			line("eu-2", v1alpha1.StateDegraded, "CrashLoopBackOff", message, 2*time.Minute),
			line("us-1", v1alpha1.StateDegraded, "QuotaExceeded", "Deployment cache: its pods exceed the quota compute: pods", time.Minute),
			line("us-2", v1alpha1.StateHealthy, "", "", time.Hour),
		}
		w.Status.Placement.Clusters = []string{"eu-1", "eu-2", "us-1", "us-2"}
		w.Status.Counts = v1alpha1.ClusterCounts{Placed: new(int32(4)), Healthy: new(int32(1)), Degraded: new(int32(3))}
	})
}

const crashed = "Deployment web: pod web-7d9f8b6c5-abcde: container app has crashed 7 times: exit code 2"

// memberReports returns the reports of crashing, reports about other objects on the same members, and one of another wrapper.
func memberReports(w v1alpha1.Wrapper) []client.Object {
	web := build.MemberReport(w, "1111111111", "Deployment", "web", "CrashLoopBackOff", "eu-1", "eu-2")
	web.Status.Message, web.Status.ObservedTime = strings.TrimPrefix(crashed, "Deployment web: "), ago(12*time.Second)
	web.Status.Events = []v1alpha1.ObservedEvent{
		{Kind: "ReplicaSet", Name: "web-7d9f8b6c5", Type: "Normal", Reason: "SuccessfulCreate", Message: "Created pod: web-7d9f8b6c5-abcde", Count: 1, LastTime: ago(4 * time.Minute)},
		{Kind: "Pod", Name: "web-7d9f8b6c5-abcde", Type: "Warning", Reason: "BackOff", Message: "Back-off restarting failed container app in pod web-7d9f8b6c5-abcde", Count: 9,
			LastTime: ago(time.Minute)},
		{Kind: "Pod", Name: "web-7d9f8b6c5-abcde", Type: "Normal", Reason: "Started", Message: "Container started", Count: 8, LastTime: ago(2 * time.Minute)},
		{Kind: "Pod", Name: "web-7d9f8b6c5-abcde", Type: "Normal", Reason: "Pulled", Message: "Container image is present", Count: 8, LastTime: ago(-time.Hour)}} // that clock is ahead
	web.Status.Containers = []v1alpha1.ObservedContainer{
		{Pod: "web-7d9f8b6c5-abcde", Name: "proxy", State: "Waiting"},
		{Pod: "web-7d9f8b6c5-abcde", Name: "app", State: "Waiting", Reason: "CrashLoopBackOff", Restarts: 7,
			Log: "reading /etc/web/config\nconnecting\npanic: DATABASE_URL is not set\n\n\tmain.main() /src/cmd/web/main.go:42: a line that is too long for a terminal of 80 columns\n"}}
	cache := build.MemberReport(w, "2222222222", "Deployment", "cache", "QuotaExceeded", "us-1")
	cache.Status.Events = []v1alpha1.ObservedEvent{{Kind: "ReplicaSet", Name: "cache-1", Type: "Warning", Reason: "FailedCreate", Message: "exceeded quota: compute", Count: 3,
		LastTime: ago(time.Minute)}}
	beside := build.MemberReport(w, "0000000000", "Deployment", "beside", "CrashLoopBackOff", "eu-1")
	beside.Status.Containers = []v1alpha1.ObservedContainer{{Pod: "beside-1", Name: "app", State: "Waiting", Log: "of another object"}}
	gone := crashing(crashed)
	gone.UID = "earlier"
	other := build.MemberReport(gone, "3333333333", "Deployment", "web", "CrashLoopBackOff", "eu-1")
	other.Status.Containers = []v1alpha1.ObservedContainer{{Pod: "web-0", Name: "app", State: "Waiting", Log: "of another wrapper"}}
	objects := []client.Object{w.(client.Object), beside, web, cache, other}
	for i, name := range []string{"api", "batch", "mail", "search"} { // a crash of web does not explain them
		objects = append(objects, build.MemberReport(w, fmt.Sprintf("444444444%d", i), "Deployment", name, "LessReplicas", "eu-1"))
	}
	return append(objects, build.MemberReport(w, "5555555555", "Job", "import", "PodNotReady", "eu-1"),
		build.MemberReport(w, "6666666666", "Deployment", "front", "LessReplicas", "us-2"), // on another member
		build.MemberReport(w, "7777777777", "Deployment", "web", "LessReplicas", "eu-1"))   // the object of the cause
}

func TestACauseNamesWhatItMayExplainOnItsMember(t *testing.T) {
	w := storefront(func(w *v1alpha1.Federated) {
		w.Status.Clusters = []v1alpha1.ClusterStatus{
			line("us-1", v1alpha1.StateDegraded, v1alpha1.ReasonClassNotFound, "PersistentVolumeClaim data: no StorageClass fast", time.Minute)}
		w.Status.Placement.Clusters = []string{"us-1"}
	})
	objects := []client.Object{w, build.MemberReport(w, "1111111111", "PersistentVolumeClaim", "data", v1alpha1.ReasonClassNotFound, "us-1"),
		build.MemberReport(w, "2222222222", "Deployment", "front", "LessReplicas", "us-2"), // on another member
		build.MemberReport(w, "3333333333", "Job", "import", "PodNotReady", "us-1")}
	for i, name := range []string{"api", "batch", "mail", "search"} {
		objects = append(objects, build.MemberReport(w, fmt.Sprintf("444444444%d", i), "Deployment", name, "LessReplicas", "us-1"))
	}
	for width, want := range map[int]string{
		0:  "may explain on us-1: LessReplicas (Deployment api, Deployment batch, Deployment mail, Deployment search); PodNotReady (Job import)",
		80: "may explain on us-1: LessReplicas (Deployment api, Deployment batch, Deployment mail and 1 more); PodNotReady (Job import)",
	} {
		got := strings.Join(strings.Fields(describeWith(t, hostWith(t, nil, objects...), screen.Screen{Width: width}, "storefront", "-n", "shop").stdout), " ")
		if !strings.Contains(got, want) {
			t.Errorf("width %d: %s", width, got)
		}
	}
}

func TestACauseHasTheEndOfTheLogAndTheCommandsForMore(t *testing.T) {
	for file, test := range map[string]struct {
		to   screen.Screen
		args []string
	}{
		"evidence-pipe.txt":       {screen.Screen{}, nil},
		"evidence-80-columns.txt": {screen.Screen{Width: 80}, nil},
		"evidence-clusters.txt":   {screen.Screen{Width: 80}, []string{"--cluster", "eu-2"}},
		"evidence.json":           {screen.Screen{}, []string{"-o", "json"}},
	} {
		t.Run(file, func(t *testing.T) {
			w := crashing(crashed)
			got := describeWith(t, hostWith(t, nil, memberReports(w)...), test.to, append(test.args, "storefront", "-n", "shop")...)
			if exit.CodeOf(got.err) != exit.Waits {
				t.Errorf("members are Degraded, and the command returns %v", got.err)
			}
			golden.Equal(t, file, got.stdout)
		})
	}
}

func TestALogThatTheMessageHasIsNotRepeated(t *testing.T) {
	w := crashing(crashed)
	for i := range 2 {
		w.Status.Clusters[i].Message += "; its log ends: connecting panic: DATABASE_URL is not set main.main() /src/cmd/web/main.go:42: a line that is too long for a terminal of 80 columns"
	}
	got := describeWith(t, hostWith(t, nil, memberReports(w)...), screen.Screen{}, "storefront", "-n", "shop")
	if strings.Count(got.stdout, "DATABASE_URL") != 1 || strings.Contains(got.stdout, "the end of the log") || !strings.Contains(got.stdout, "`hostctl logs storefront -n shop`") {
		t.Errorf("%v:\n%s", got.err, got.stdout)
	}
}

func TestMembersThatTheManagerCannotReachHaveEvidenceFromBefore(t *testing.T) {
	const of1, of2 = "eu-1 before the outage (12s ago): CrashLoopBackOff (Deployment web); more: `hostctl logs storefront -n shop --cluster eu-1`",
		"eu-2 before the outage (12s ago, from eu-1): CrashLoopBackOff (Deployment web); more: `hostctl logs storefront -n shop --cluster eu-2`"
	const ofUS = "us-1 before the outage (8s ago): QuotaExceeded (Deployment cache); more: `hostctl events storefront -n shop --cluster us-1`"
	for name, test := range map[string]struct {
		args []string
		want []string
	}{
		"each of the fold":       {nil, []string{of1, of2, ofUS}},
		"those that are chosen":  {[]string{"--cluster", "eu-2,us-1"}, []string{of2, ofUS}},
		"none with other states": {[]string{"--cluster", "us-2"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := crashing(crashed)
			for i := range 3 {
				l := &w.Status.Clusters[i]
				l.State, l.Reason, l.Message = v1alpha1.StateUnreachable, v1alpha1.ReasonUnreachable, "connection refused"
			}
			var objects []client.Object
			for _, o := range memberReports(w) {
				switch o.GetName() {
				case "storefront.1111111111":
				case "storefront.2222222222":
					o.(*v1alpha1.MemberReport).Status.ObservedTime = ago(8 * time.Second)
				default:
					if o != client.Object(w) {
						continue
					}
				}
				objects = append(objects, o)
			}
			got := describeWith(t, hostWith(t, nil, objects...), screen.Screen{}, append(test.args, "storefront", "-n", "shop")...)
			var lines []string
			for _, line := range strings.Split(got.stdout, "\n") {
				if text, ok := strings.CutPrefix(line, "   last evidence of "); ok {
					lines = append(lines, text)
				}
			}
			if diff := cmp.Diff(test.want, lines); diff != "" {
				t.Errorf("(-want +got) %v:\n%s\n%s", got.err, diff, got.stdout)
			}
		})
	}
}

func TestEvidenceFromBeforeIsShownForAFewMembers(t *testing.T) {
	var names []string
	w := storefront(func(w *v1alpha1.Federated) {
		w.Status.Clusters = nil
		for i := range 8 {
			names = append(names, fmt.Sprintf("eu-%d", i))
			w.Status.Clusters = append(w.Status.Clusters, line(names[i], v1alpha1.StateUnreachable, v1alpha1.ReasonUnreachable, "connection refused", time.Minute))
		}
		w.Status.Placement.Clusters = names
	})
	report := build.MemberReport(w, "1111111111", "Deployment", "web", "CrashLoopBackOff", names...)
	got := describeWith(t, hostWith(t, nil, w, report), screen.Screen{}, "storefront", "-n", "shop")
	if strings.Count(got.stdout, "   last evidence of eu-") != 5 || !strings.Contains(got.stdout, "   last evidence of 3 more members before the outage: `hostctl describe` with --cluster shows it\n") {
		t.Errorf("%v:\n%s", got.err, got.stdout)
	}
	got = describeWith(t, hostWith(t, nil, w, report), screen.Screen{}, "storefront", "-n", "shop", "--cluster", "eu-7")
	if strings.Count(got.stdout, "last evidence of ") != 1 || !strings.Contains(got.stdout, "--cluster eu-7`\n") {
		t.Errorf("%v:\n%s", got.err, got.stdout)
	}
}

func TestReportsThatCannotBeReadAreToldAndTheRestIsShown(t *testing.T) {
	for name, w := range map[string]*v1alpha1.Federated{"degraded": crashing(crashed), "healthy": storefront(well)} {
		t.Run(name, func(t *testing.T) {
			asked := false
			host := interceptor.NewClient(hostWith(t, nil, memberReports(w)...), interceptor.Funcs{
				List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
					if list.GetObjectKind().GroupVersionKind().Kind == "MemberReportList" {
						asked = true
						return apierrors.NewForbidden(schema.GroupResource{Resource: "memberreports"}, "", errors.New("no"))
					}
					return c.List(ctx, list, opts...)
				}})
			got := describeWith(t, host, screen.Screen{}, "storefront", "-n", "shop")
			says := "\nevidence: not shown, because your account may not list memberreports in namespace shop (ClusterRole fairlead-oncall grants it)\n\nevents: none\n"
			if trouble := name == "degraded"; asked != trouble || strings.Contains(got.stdout, says) != trouble {
				t.Errorf("asked for reports: %v, printed (%v):\n%s", asked, got.err, got.stdout)
			}
		})
	}
}

func TestNoEvidenceControlsTheTerminal(t *testing.T) {
	const bad = "x\x1b[2J\u009b31m\u202ey\r\u2028z\x7f"
	w := crashing(crashed)
	r := build.MemberReport(w, "1111111111", "Deployment", "web", "CrashLoopBackOff", "eu-1")
	r.Status.Containers = []v1alpha1.ObservedContainer{{Pod: bad, Name: bad, State: bad, Log: "  " + bad + "\n"}}
	for _, args := range [][]string{{}, {"--cluster", "eu-1"}, {"-o", "json"}, {"-o", "yaml"}} {
		got := describeWith(t, hostWith(t, nil, w, r), screen.Screen{Width: 80}, append(args, "storefront", "-n", "shop")...)
		if !strings.Contains(got.stdout, "x[2J31myz") {
			t.Errorf("%v: the log is not there:\n%s", args, got.stdout)
		}
		for _, r := range got.stdout {
			if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
				t.Errorf("%v: the output has %U", args, r)
			}
		}
	}
}

// A report does not count the words of a log, and a cause does. So two causes can share one report, with the log of a member of one of them.
func TestALogOfAnotherCauseIsNotShownAsOwn(t *testing.T) {
	w := crashing(crashed)
	w.Status.Clusters[0].Message += "; from its log: panic: DATABASE_URL is not set"
	w.Status.Clusters[1].Message += "; from its log: panic: no route to host"
	r := build.MemberReport(w, "1111111111", "Deployment", "web", "CrashLoopBackOff", "eu-1", "eu-2")
	r.Status.Message = strings.TrimPrefix(w.Status.Clusters[0].Message, "Deployment web: ")
	r.Status.Containers = []v1alpha1.ObservedContainer{{Pod: "web-1", Name: "app", State: "Waiting", Log: "of eu-1 only"}}
	const own, other = "\n   the end of the log of eu-1/web-1/app:\n", "\n   from eu-1, which fails with another message: the end of the log of eu-1/web-1/app:\n"
	for args, want := range map[string][]int{"": {1, 1}, "--cluster=eu-1": {1, 0}, "--cluster=eu-2": {0, 1}} {
		got := describeWith(t, hostWith(t, nil, w.DeepCopy(), r), screen.Screen{}, append(strings.Fields(args), "storefront", "-n", "shop")...).stdout
		if diff := cmp.Diff(want, []int{strings.Count(got, own), strings.Count(got, other)}); diff != "" {
			t.Errorf("%q (-want +got):\n%s\n%s", args, diff, got)
		}
	}
	// eu-2 has a report of its own, too.
	ours := build.MemberReport(w, "2222222222", "Deployment", "web", "CrashLoopBackOff", "eu-2")
	ours.Status.Containers = []v1alpha1.ObservedContainer{{Pod: "web-2", Name: "app", State: "Waiting", Log: "of eu-2 only"}}
	got := describeWith(t, hostWith(t, nil, w, r, ours), screen.Screen{}, "storefront", "-n", "shop").stdout
	if strings.Count(got, own) != 1 || strings.Contains(got, other) || strings.Count(got, "\n   the end of the log of eu-2/web-2/app:\n") != 1 {
		t.Error(got)
	}
	var programs struct {
		Evidence []struct {
			Cluster      string `json:"cluster"`
			OtherMessage bool   `json:"otherMessage"`
		} `json:"evidence"`
	}
	text := describeWith(t, hostWith(t, nil, w, r), screen.Screen{}, "storefront", "-n", "shop", "-o", "json").stdout
	if err := json.Unmarshal([]byte(text), &programs); err != nil {
		t.Fatal(err)
	}
	if e := programs.Evidence; len(e) != 2 || e[0].OtherMessage || !e[1].OtherMessage || e[1].Cluster != "eu-1" {
		t.Error(text)
	}
}
