// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func line(name string, state v1alpha1.ClusterState, reason, message string, since time.Duration) v1alpha1.ClusterStatus {
	return v1alpha1.ClusterStatus{Name: name, State: state, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(now.Add(-since))}
}

func wrapper(lines ...v1alpha1.ClusterStatus) *v1alpha1.Federated {
	return &v1alpha1.Federated{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, Status: v1alpha1.WrapperStatus{Clusters: lines}}
}

// summaries returns for each cause its reason, its members and the cause from which it may follow.
func summaries(causes []Cause) []string {
	out := []string{}
	for i := range causes {
		c := &causes[i]
		text := string(c.State) + " " + c.Reason + ":"
		for _, m := range c.Members {
			text += " " + m.Name
		}
		if c.MayFollowFrom != "" {
			text += " after " + c.MayFollowFrom
		}
		out = append(out, text)
	}
	return out
}

func TestCausesAreInTheOrderInWhichAPersonActs(t *testing.T) {
	const stalled, degraded, held, waiting = v1alpha1.StateStalled, v1alpha1.StateDegraded, v1alpha1.StateHeld, v1alpha1.StateWaiting
	for name, test := range map[string]struct {
		lines []v1alpha1.ClusterStatus
		want  []string
	}{
		"healthy members have no cause, also with a reason": {[]v1alpha1.ClusterStatus{line("a", v1alpha1.StateHealthy, v1alpha1.ReasonDeprecated, "old", 0)}, []string{}},
		"a person's work, then lost members, then the system's work, then waits": {[]v1alpha1.ClusterStatus{
			line("a", waiting, v1alpha1.ReasonWaveHeld, "", 0), line("b", v1alpha1.StatePushing, v1alpha1.ReasonPushing, "", 0),
			line("c", v1alpha1.StateUnreachable, v1alpha1.ReasonUnreachable, "", 0), line("d", held, v1alpha1.ReasonSuspended, "", 0),
			line("e", v1alpha1.StateRemoving, v1alpha1.ReasonLeaving, "", 0), line("f", v1alpha1.StateUnknown, v1alpha1.ReasonNotHeardFrom, "", 0),
		}, []string{"Held Suspended: d", "Unknown NotHeardFrom: f", "Unreachable Unreachable: c", "Removing Leaving: e", "Pushing Pushing: b", "Waiting WaveHeld: a"}},
		"quota before too few pods": {[]v1alpha1.ClusterStatus{line("a", degraded, podNotReady, "0 of 3 ready", 0), line("b", degraded, podNotReady, "0 of 3 ready", 0),
			line("c", degraded, failedCreate, "exceeded quota", 0)},
			[]string{"Degraded FailedCreate: c", "Degraded PodNotReady: a b after FailedCreate"}},
		"a missing class before a pod that is not scheduled, before too few pods": {[]v1alpha1.ClusterStatus{
			line("a", degraded, podNotReady, "", 0), line("b", degraded, unschedulable, "", 0), line("c", degraded, v1alpha1.ReasonClassNotFound, "", 0)},
			[]string{"Degraded ClassNotFound: c", "Degraded Unschedulable: b after ClassNotFound", "Degraded PodNotReady: a after ClassNotFound"}},
		"a catalog that is down before a resolution that fails": {[]v1alpha1.ClusterStatus{line("a", degraded, resolutionFailed, "", 0),
			line("b", degraded, resolutionFailed, "", 0), line("c", degraded, catalogSourcesUnhealthy, "", 0), line("d", degraded, bundleUnpackFailed, "", 0)},
			[]string{"Degraded CatalogSourcesUnhealthy: c", "Degraded BundleUnpackFailed: d after CatalogSourcesUnhealthy", "Degraded ResolutionFailed: a b after CatalogSourcesUnhealthy"}},
		"too many OperatorGroups before the API that the operator does not serve": {[]v1alpha1.ClusterStatus{
			line("a", waiting, v1alpha1.ReasonAPINotServed, "", 0), line("b", degraded, v1alpha1.ReasonTooManyOperatorGroups, "", 0)},
			[]string{"Degraded TooManyOperatorGroups: b", "Waiting APINotServed: a after TooManyOperatorGroups"}},
		"requirements that are not met before the API that the operator does not serve": {[]v1alpha1.ClusterStatus{
			line("a", waiting, v1alpha1.ReasonAPINotServed, "", 0), line("b", degraded, requirementsNotMet, "", 0)},
			[]string{"Degraded RequirementsNotMet: b", "Waiting APINotServed: a after RequirementsNotMet"}},
		"an InstallPlan without approval before the API that the operator does not serve": {[]v1alpha1.ClusterStatus{
			line("a", waiting, v1alpha1.ReasonAPINotServed, "", 0), line("b", waiting, v1alpha1.ReasonApprovalRequired, "", 0)},
			[]string{"Waiting ApprovalRequired: b", "Waiting APINotServed: a after ApprovalRequired"}},
		"a container that crashes before a Job whose pods fail": {[]v1alpha1.ClusterStatus{
			line("a", degraded, backoffLimitExceeded, "", 0), line("b", degraded, backoffLimitExceeded, "", 0), line("c", degraded, crashLoopBackOff, "", 0)},
			[]string{"Degraded CrashLoopBackOff: c", "Degraded BackoffLimitExceeded: a b after CrashLoopBackOff"}},
		"a pod that ended with an error before a Job whose pods fail": {[]v1alpha1.ClusterStatus{
			line("a", degraded, backoffLimitExceeded, "", 0), line("b", degraded, backoffLimitExceeded, "", 0), line("c", degraded, containerError, "", 0)},
			[]string{"Degraded Error: c", "Degraded BackoffLimitExceeded: a b after Error"}},
		"a pod without its image does not fail its Job": {[]v1alpha1.ClusterStatus{
			line("a", degraded, backoffLimitExceeded, "", 0), line("b", degraded, backoffLimitExceeded, "", 0), line("c", degraded, imagePullBackOff, "", 0)},
			[]string{"Degraded BackoffLimitExceeded: a b", "Degraded ImagePullBackOff: c"}},
		"a CRD that is missing, although it only waits, before a custom resource that is refused": {[]v1alpha1.ClusterStatus{
			line("a", waiting, v1alpha1.ReasonAPINotServed, "", 0), line("b", stalled, v1alpha1.ReasonInvalid, "", 0)},
			[]string{"Waiting APINotServed: a", "Stalled Invalid: b after APINotServed"}},
		"a claim without a volume, through a pod that is not scheduled, before what a person has to change": {[]v1alpha1.ClusterStatus{
			line("a", v1alpha1.StateProgressing, v1alpha1.ReasonClaimPending, "", 0), line("b", v1alpha1.StateProgressing, unschedulable, "", 0),
			line("c", degraded, podNotReady, "", 0), line("d", v1alpha1.StateUnreachable, v1alpha1.ReasonUnreachable, "", 0)},
			[]string{"Progressing ClaimPending: a", "Progressing Unschedulable: b after ClaimPending", "Degraded PodNotReady: c after ClaimPending", "Unreachable Unreachable: d"}},
		"a wait that leads to another wait stays behind what is urgent": {[]v1alpha1.ClusterStatus{
			line("a", waiting, v1alpha1.ReasonAPINotServed, "", 0), line("b", waiting, transientFailure, "", 0), line("c", v1alpha1.StateUnreachable, v1alpha1.ReasonUnreachable, "", 0)},
			[]string{"Unreachable Unreachable: c", "Waiting TRANSIENT_FAILURE: b", "Waiting APINotServed: a after TRANSIENT_FAILURE"}},
		"without a known relation, more members first, then by reason": {[]v1alpha1.ClusterStatus{line("a", degraded, unschedulable, "", 0),
			line("b", stalled, v1alpha1.ReasonRefused, "", 0), line("c", stalled, v1alpha1.ReasonInvalid, "", 0), line("d", stalled, v1alpha1.ReasonRefused, "", 0)},
			[]string{"Stalled Refused: b d", "Stalled Invalid: c", "Degraded Unschedulable: a"}},
		"an InstallPlan that only a person approves": {[]v1alpha1.ClusterStatus{line("a", v1alpha1.StateProgressing, v1alpha1.ReasonInstalling, "", 0),
			line("b", waiting, v1alpha1.ReasonApprovalRequired, "", 0)}, []string{"Waiting ApprovalRequired: b", "Progressing Installing: a"}},
		"the errors of connections do not tell causes apart": {[]v1alpha1.ClusterStatus{line("a", v1alpha1.StateUnreachable, v1alpha1.ReasonUnreachable, "timeout", 0),
			line("b", v1alpha1.StateUnreachable, v1alpha1.ReasonUnreachable, "connection refused", 0),
			line("c", v1alpha1.StateUnreachable, v1alpha1.ReasonUnauthorized, "no", 0)}, []string{"Unreachable Unreachable: a b", "Unreachable Unauthorized: c"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, summaries(Of(wrapper(test.lines...)))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTheMostUrgentCauseIsThatOfTheStateThatNeedsAPerson(t *testing.T) {
	missing := line("a", v1alpha1.StateWaiting, v1alpha1.ReasonAPINotServed, "", 0)
	refused, invalid := line("b", v1alpha1.StateStalled, v1alpha1.ReasonRefused, "", 0), line("c", v1alpha1.StateStalled, v1alpha1.ReasonInvalid, "", 0)
	for name, test := range map[string]struct {
		lines []v1alpha1.ClusterStatus
		want  string
	}{
		"behind the cause that leads to it": {[]v1alpha1.ClusterStatus{missing, refused}, "Stalled Refused"},
		"the first of equally urgent ones":  {[]v1alpha1.ClusterStatus{missing, refused, invalid}, "Stalled Invalid"},
		"a wait alone":                      {[]v1alpha1.ClusterStatus{missing}, "Waiting APINotServed"},
	} {
		t.Run(name, func(t *testing.T) {
			causes := Of(wrapper(test.lines...))
			if got := MostUrgent(causes); string(got.State)+" "+got.Reason != test.want {
				t.Errorf("got %s %s of %v", got.State, got.Reason, summaries(causes))
			}
			if causes[0].NeedsPerson {
				t.Errorf("%s needs a person", causes[0].Reason)
			}
		})
	}
	if MostUrgent(nil) != nil {
		t.Error("a list without causes has a most urgent one")
	}
}

func TestACauseHasEvidenceAndTheNextStep(t *testing.T) {
	const message = "Deployment %[1]s: container app of pod web-%[2]s cannot be started: its image \"shop/web:1.2.4\" cannot be pulled: not found"
	got := Of(wrapper(
		line("de-2", v1alpha1.StateDegraded, imagePullBackOff, fmt.Sprintf(message, "web", "5d8f7c9b64-x7k2p"), time.Minute),
		line("de-1", v1alpha1.StateDegraded, imagePullBackOff, fmt.Sprintf(message, "web", "7bcd6f9f4x-2lw4z"), 4*time.Minute),
		line("us-1", v1alpha1.StateHeld, v1alpha1.ReasonRemovalNeedsApproval, "", 0),
		line("us-2", v1alpha1.StateDegraded, "SomethingNew", "Its cause is not known", 0),
	))
	want := []Cause{
		{Reason: imagePullBackOff, State: v1alpha1.StateDegraded, NeedsPerson: true, Object: "Deployment web",
			Message: fmt.Sprintf(message, "web", "7bcd6f9f4x-2lw4z"), Sample: "de-1", Next: "check name and tag of the image, the pull secret, and that the nodes reach the registry",
			Documentation: "docs/troubleshooting.md#objects",
			Members:       []Member{{"de-1", metav1.NewTime(now.Add(-4 * time.Minute))}, {"de-2", metav1.NewTime(now.Add(-time.Minute))}}},
		{Reason: v1alpha1.ReasonRemovalNeedsApproval, State: v1alpha1.StateHeld, NeedsPerson: true, Sample: "us-1",
			Next:          "restore the placement or the labels, or approve the removal with `hostctl approve web -n shop --removal`",
			Documentation: "docs/troubleshooting.md#conditions-of-a-wrapper", Members: []Member{{"us-1", metav1.NewTime(now)}}},
		{Reason: "SomethingNew", State: v1alpha1.StateDegraded, NeedsPerson: true, Message: "Its cause is not known", Sample: "us-2",
			Next:    "mend what the message names; `hostctl events web -n shop` and `hostctl logs web -n shop` show what the member reports",
			Members: []Member{{"us-2", metav1.NewTime(now)}}},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Cause{})); diff != "" {
		t.Error(diff)
	}
}

func TestTheWrapperItselfCanBeTheCause(t *testing.T) {
	held := line("a", v1alpha1.StateHeld, v1alpha1.ReasonRemovalNeedsApproval, "", 0)
	for name, test := range map[string]struct {
		conditions []metav1.Condition
		lines      []v1alpha1.ClusterStatus
		want       []string
	}{
		"placed nowhere": {[]metav1.Condition{{Type: "Placed", Status: "False", Reason: v1alpha1.ReasonNoClusterMatches}}, nil, []string{"Stalled NoClusterMatches:"}},
		"a spec that cannot be rendered, before the members": {[]metav1.Condition{{Type: "Placed", Status: "True", Reason: "Placed"},
			{Type: "Ready", Status: "False", Reason: v1alpha1.ReasonSpecInvalid}}, []v1alpha1.ClusterStatus{line("a", v1alpha1.StateStalled, "Invalid", "", 0)},
			[]string{"Stalled SpecInvalid:", "Stalled Invalid: a"}},
		"a removal that waits": {[]metav1.Condition{{Type: "Placed", Status: "False", Reason: v1alpha1.ReasonRemovalNeedsApproval}}, nil,
			[]string{"Held RemovalNeedsApproval:"}},
		"a removal that waits, and lines that say so": {[]metav1.Condition{{Type: "Placed", Status: "False", Reason: v1alpha1.ReasonRemovalNeedsApproval}},
			[]v1alpha1.ClusterStatus{held}, []string{"Held RemovalNeedsApproval: a"}},
		"being deleted": {[]metav1.Condition{{Type: "Placed", Status: "False", Reason: v1alpha1.ReasonNoClusterMatches},
			{Type: "Ready", Status: "False", Reason: v1alpha1.ReasonDeleting}}, nil, []string{}},
		"no status yet": {nil, nil, []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			w := wrapper(test.lines...)
			w.Status.Conditions = test.conditions
			if diff := cmp.Diff(test.want, summaries(Of(w))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTheObjectIsReadFromTheBeginningOfTheMessage(t *testing.T) {
	for message, want := range map[string]string{
		"Deployment web: container app crashes":            "Deployment web",
		"ClusterRole system:shop:view: no":                 "ClusterRole system:shop:view",
		"ConfigMap a was changed on the member by kubectl": "ConfigMap a",
		"Job migrate":                              "Job migrate",
		"The manager cannot reach the member":      "",
		"its wave has not begun":                   "",
		"Deployment WEB: has no name of an object": "",
		"": "",
	} {
		if got := objectOf(message); got != want {
			t.Errorf("%q: got %q, want %q", message, got, want)
		}
	}
}

// Every member that is not Healthy is in exactly one cause, and neither the order of the lines nor chance changes the result.
func TestEveryMemberThatIsNotHealthyIsInOneCauseAndTheOrderIsTotal(t *testing.T) {
	states := []v1alpha1.ClusterState{v1alpha1.StateWaiting, v1alpha1.StatePushing, v1alpha1.StateProgressing, v1alpha1.StateHealthy, v1alpha1.StateDegraded,
		v1alpha1.StateStalled, v1alpha1.StateHeld, v1alpha1.StateRemoving, v1alpha1.StateUnreachable, v1alpha1.StateUnknown, "Later"}
	reasons := []string{"", failedCreate, podNotReady, unschedulable, v1alpha1.ReasonClassNotFound, v1alpha1.ReasonClaimPending, v1alpha1.ReasonAPINotServed,
		v1alpha1.ReasonInvalid, v1alpha1.ReasonApprovalRequired, "SomethingNew"}
	messages := []string{"", "Deployment web: 1 of 3", "Deployment web: 2 of 3", "pod web-5d8f7c9b64-x7k2p", "it cannot be reached"}
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		lines := make([]v1alpha1.ClusterStatus, random.IntN(40))
		unwell := 0
		for i := range lines {
			lines[i] = line(fmt.Sprintf("m-%02d", i), states[random.IntN(len(states))], reasons[random.IntN(len(reasons))], messages[random.IntN(len(messages))],
				time.Duration(random.IntN(3))*time.Minute)
			if lines[i].State != v1alpha1.StateHealthy {
				unwell++
			}
		}
		got := Of(wrapper(lines...))
		seen := map[string]bool{}
		for i, c := range got {
			for j := range got[:i] {
				if slices.Contains(consequences[c.Reason], got[j].Reason) {
					t.Fatalf("seed %d: %s comes after %s, which it causes", seed, c.Reason, got[j].Reason)
				}
			}
			if c.NeedsPerson != (c.urgency() == urgencyPerson || c.State == v1alpha1.StateUnreachable) {
				t.Fatalf("seed %d: %s %s: needs a person: %v", seed, c.State, c.Reason, c.NeedsPerson)
			}
			for _, m := range c.Members {
				if seen[m.Name] {
					t.Fatalf("seed %d: %s is in two causes", seed, m.Name)
				}
				seen[m.Name] = true
			}
		}
		if len(seen) != unwell {
			t.Fatalf("seed %d: %d members have a cause, want %d", seed, len(seen), unwell)
		}
		shuffled := slices.Clone(lines)
		random.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		if diff := cmp.Diff(got, Of(wrapper(shuffled...)), cmp.AllowUnexported(Cause{})); diff != "" {
			t.Fatalf("seed %d: the order of the lines changes the causes:\n%s", seed, diff)
		}
	}
}

func TestTheTableOfConsequencesHasNoCycle(t *testing.T) {
	var visit func(reason string, path []string)
	visit = func(reason string, path []string) {
		if slices.Contains(path, reason) {
			t.Fatalf("a cycle: %s", strings.Join(append(path, reason), " → "))
		}
		for _, next := range consequences[reason] {
			visit(next, append(path, reason))
		}
	}
	for reason := range consequences {
		visit(reason, nil)
	}
}

// IsConsequence and the table of consequences must agree: IsConsequence is true for the reasons that, by the table, an unbound claim
// causes, and for no other.
func TestReasonsOfTooFewPodsAreConsequencesOfAClaimThatIsNotBound(t *testing.T) {
	of := map[string]bool{}
	for _, reason := range consequences[v1alpha1.ReasonClaimPending] {
		of[reason] = true
	}
	for reason := range steps {
		if IsConsequence(reason) != of[reason] {
			t.Errorf("%s: IsConsequence says %v, and the table says %v", reason, IsConsequence(reason), of[reason])
		}
	}
	for reason, want := range map[string]bool{"LessReady": true, "LessUpdated": true, "Unschedulable": true, "CrashLoopBackOff": false, "": false} {
		if IsConsequence(reason) != want {
			t.Errorf("%q: IsConsequence says %v", reason, !want)
		}
	}
}
