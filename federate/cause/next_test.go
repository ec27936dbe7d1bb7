// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// elsewhere has the reasons that neither a member's line nor a cause without members can have.
var elsewhere = []string{
	// the wrapper is well
	v1alpha1.ReasonPlaced, v1alpha1.ReasonAllUpdated, v1alpha1.ReasonAllHealthy, v1alpha1.ReasonAPIServed,
	// events, and status.upgrade
	v1alpha1.ReasonRolloutBegan, v1alpha1.ReasonWaveBegan, v1alpha1.ReasonRolloutComplete, v1alpha1.ReasonRolloutPaused, v1alpha1.ReasonRolloutRollsBack,
	v1alpha1.ReasonRolloutRolledBack, v1alpha1.ReasonVersionTaken, v1alpha1.ReasonVersionsDiffer, v1alpha1.ReasonApprovalOutdated, v1alpha1.ReasonKept,
	v1alpha1.ReasonOperatorLeft, v1alpha1.ReasonRevisionUnreadable,
	// MemberReports with a request
	v1alpha1.ReasonAnswered, v1alpha1.ReasonRequestPending, v1alpha1.ReasonRequestLimitReached, v1alpha1.ReasonWrapperNotFound,
	v1alpha1.ReasonObjectNotFound, v1alpha1.ReasonSecretRequested, v1alpha1.ReasonClusterNotPlaced, v1alpha1.ReasonDeliveryNotFound, v1alpha1.ReasonPairHeld,
	// the kinds of network errors on a MemberCluster; lines have ReasonUnreachable for all of them
	v1alpha1.ReasonNameNotResolved, v1alpha1.ReasonConnectionRefused, v1alpha1.ReasonTLSError, v1alpha1.ReasonTimeout,
	// a MemberCluster that the manager reaches
	v1alpha1.ReasonAnswers, v1alpha1.ReasonCollecting, v1alpha1.ReasonReady, v1alpha1.ReasonNoHeartbeat, v1alpha1.ReasonCollectorStarting,
	v1alpha1.ReasonCollectorCrashed, v1alpha1.ReasonDeploymentMissing, v1alpha1.ReasonImageNotPulled, v1alpha1.ReasonPodRefused,
	v1alpha1.ReasonPodUnschedulable, v1alpha1.ReasonCRDsOutdated, v1alpha1.ReasonCollectorOutdated,
}

func TestEveryReasonOfALineHasANextStep(t *testing.T) {
	never := map[string]bool{}
	for _, reason := range elsewhere {
		never[reason] = true
	}
	file, err := parser.ParseFile(token.NewFileSet(), "../../apis/v1alpha1/conditions.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, "Reason") {
			return true
		}
		reason, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		found++
		if _, ok := steps[reason]; ok == never[reason] {
			t.Errorf("%s must be either in the table of next steps or in the list of reasons that lines do not have, and not in both", reason)
		}
		return true
	})
	if found < 40 {
		t.Errorf("found only %d reasons in conditions.go", found)
	}
}

// The anchors are those that GitHub makes of the headings.
func TestTheDocumentationHasEachReasonInTheSectionThatTheStepNames(t *testing.T) {
	page, err := os.ReadFile("../../" + documentation)
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]string{}
	for _, section := range strings.Split(string(page), "\n## ")[1:] {
		heading, rows, _ := strings.Cut(section, "\n")
		anchor := regexp.MustCompile(`[^a-z0-9 -]`).ReplaceAllString(strings.ToLower(heading), "")
		sections[strings.ReplaceAll(anchor, " ", "-")] = rows
	}
	for reason, s := range steps {
		if s.section == "" {
			continue
		}
		first := regexp.MustCompile("(?m)^\\| [^|]*`" + reason + "`[^|]*\\|")
		if !first.MatchString(sections[s.section]) {
			t.Errorf("%s: section %s of %s has no row for it", reason, s.section, documentation)
		}
	}
}

// The documentation shows what hostctl prints for each fault of the table. The name of the wrapper differs from row to row.
func TestTheTableOfFaultsHasTheNextStepsThatArePrinted(t *testing.T) {
	page, err := os.ReadFile("../../" + documentation)
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(page), "\n| fault |")
	if !ok {
		t.Fatal("the page has no table of faults")
	}
	table, _, _ = strings.Cut(table, "\n\n")
	shown, rows := regexp.MustCompile("^ `(\\w+)(?: \\((\\w+)\\))?`"), 0
	for _, row := range strings.Split(table, "\n")[2:] {
		cells := strings.Split(row, "|")
		is := shown.FindStringSubmatch(cells[2])
		if is == nil {
			t.Errorf("no reason in row %q", row)
			continue
		}
		rows++
		next, _ := stepOf(is[1], v1alpha1.ClusterState(is[2]), placeholder)
		want := "^" + strings.ReplaceAll(regexp.QuoteMeta(next), regexp.QuoteMeta(placeholder), `\S+ -n \S+`) + "$"
		if got := strings.TrimSpace(cells[len(cells)-2]); next == "" || !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("row%s:\n got %s\nwant %s", cells[1], got, next)
		}
	}
	if rows < 22 {
		t.Errorf("the table has %d rows", rows)
	}
}

func TestEachStepIsOneSentenceWithTheNameOfTheWrapper(t *testing.T) {
	for reason := range steps {
		next, _ := stepOf(reason, v1alpha1.StateDegraded, "cfed/fast")
		if next == "" || strings.Contains(next, placeholder) || strings.HasSuffix(next, ".") || strings.Contains(next, ". ") || len(next) > 160 {
			t.Errorf("%s: %q", reason, next)
		}
	}
}

func TestTheStepOfAnObjectHasTheFlagsThatChooseIt(t *testing.T) {
	const flags = "--cluster east --object Deployment/web"
	for reason, want := range map[string]string{
		crashLoopBackOff: "run `hostctl logs web -n shop " + flags + "`; ",
		"SomethingNew":   "`hostctl events web -n shop " + flags + "` and `hostctl logs web -n shop " + flags + "` show",
		"RolloutStopped": "`hostctl approve web -n shop --retry`", // it has no flag --object
	} {
		if next, _ := StepOf(reason, "web -n shop", flags); !strings.Contains(next, want) {
			t.Errorf("%s: %q lacks %q", reason, next, want)
		}
	}
}

func TestAReasonThatIsNotKnownHasTheStepOfItsState(t *testing.T) {
	for state, command := range map[v1alpha1.ClusterState]string{
		v1alpha1.StateStalled: "`hostctl events cfed/fast`", v1alpha1.StateDegraded: "`hostctl logs cfed/fast`",
		v1alpha1.StateHeld: "`hostctl recover cfed/fast`", v1alpha1.StateWaiting: "`hostctl events cfed/fast -w`", v1alpha1.StateProgressing: "`hostctl events cfed/fast`",
	} {
		next, where := stepOf("SomethingNew", state, "cfed/fast")
		if !strings.Contains(next, command) || strings.Contains(next, placeholder) || strings.Contains(next, ". ") || len(next) > 160 || where != "" {
			t.Errorf("%s: %q, %q", state, next, where)
		}
	}
	for _, state := range []v1alpha1.ClusterState{v1alpha1.StatePushing, v1alpha1.StateUnreachable, "Later"} {
		if next, _ := stepOf("SomethingNew", state, "cfed/fast"); next != "" {
			t.Errorf("%s: %q", state, next)
		}
	}
}
