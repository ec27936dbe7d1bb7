// SPDX-License-Identifier: Apache-2.0

package push

import (
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
	"github.com/fairlead-dev/fairlead/internal/push/memberapi"
	"github.com/fairlead-dev/fairlead/internal/push/plan"
)

func TestAnApprovalIsTriedOnceForEachReportAndAgainAfterAWhile(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	a, key, desired := approvals{clock: clock}, KeyOf(v1alpha1.WrapperIdentity{Kind: v1alpha1.KindFederated, Namespace: "shop", Name: "db"}), &plan.Desired{Drift: v1alpha1.DriftRepair}
	begin := func(what string, desired *plan.Desired, pending string, want bool) {
		t.Helper()
		if due, wait := a.begin(key, desired, pending); due != want || (wait > 0) != (pending != "") {
			t.Errorf("%s: due %v, next after %s", what, due, wait)
		}
	}
	begin("no plan is pending", desired, "", false)
	begin("a plan is pending", desired, "db: install-1", true)
	begin("the same report", desired, "db: install-1", false)
	begin("another plan", desired, "db: install-2", true)
	trouble := &memberapi.Trouble{Reason: v1alpha1.ReasonInstallPlanBundlesOthers}
	a.end(key, desired, trouble)
	if a.of(key, desired) != trouble {
		t.Error("Result does not report why the plan is not approved")
	}
	clock.Step(approvalInterval)
	begin("the same report, later", desired, "db: install-2", true)
	if a.of(key, desired) != trouble {
		t.Error("the reason disappears while the next attempt runs")
	}
	other := &plan.Desired{Drift: v1alpha1.DriftReport}
	begin("another desired state", other, "db: install-2", true)
	if a.of(key, other) != nil {
		t.Error("the reason of an attempt for an earlier desired state is reported")
	}
	a.end(key, desired, trouble)
	if a.of(key, other) != nil {
		t.Error("an attempt for an earlier desired state counts")
	}
	begin("it was approved", other, "", false)
	if len(a.all) > 0 {
		t.Error("pairs without a pending plan stay in memory")
	}
}

func TestPendingPlansAreThoseThatTheCollectorReports(t *testing.T) {
	report := func(reason, message string) *deliveries.Summary {
		return &deliveries.Summary{Status: &v1alpha1.DeliveryStatus{Objects: []v1alpha1.ObjectStatus{{Kind: "Subscription", Name: "db", Reason: reason, Message: message}}}}
	}
	if is := pendingPlans(report(v1alpha1.ReasonApprovalRequired, "InstallPlan install-1 waits")); is != "" {
		t.Errorf("a plan that waits for a person is pending: %q", is)
	}
	one, two := pendingPlans(report(v1alpha1.ReasonInstallPlanPending, "InstallPlan install-1 waits")), pendingPlans(report(v1alpha1.ReasonInstallPlanPending, "InstallPlan install-2 waits"))
	if one == "" || two == "" || one == two {
		t.Errorf("%q and %q do not tell two plans apart", one, two)
	}
	if is := pendingPlans(nil) + pendingPlans(&deliveries.Summary{}); is != "" {
		t.Errorf("without a report %q is pending", is)
	}
}
