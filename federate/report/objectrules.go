// SPDX-License-Identifier: Apache-2.0

package report

import (
	"slices"
	"strings"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/cause"
	"github.com/fairlead-dev/fairlead/federate/health"
)

var stateOf = map[v1alpha1.Health]v1alpha1.ClusterState{
	v1alpha1.Waiting:     v1alpha1.StateWaiting,
	v1alpha1.Progressing: v1alpha1.StateProgressing,
	v1alpha1.Degraded:    v1alpha1.StateDegraded,
}

// unapproved makes the line of a member with an InstallPlan that the manager does not approve. The line has the
// manager's reason: the object's own reason, InstallPlanPending, does not tell why the approval is missing. The rule
// does not apply if an object is Degraded, because the line then has to show that object.
func unapproved(m *Member) (v1alpha1.ClusterStatus, bool) {
	if m.Unapproved.Reason == "" || m.Status == nil {
		return v1alpha1.ClusterStatus{}, false
	}
	if worst := worstObject(m.Status); worst != nil && worst.Health == v1alpha1.Degraded {
		return v1alpha1.ClusterStatus{}, false
	}
	pending := slices.ContainsFunc(m.Status.Objects, func(o v1alpha1.ObjectStatus) bool { return o.Reason == v1alpha1.ReasonInstallPlanPending })
	return v1alpha1.ClusterStatus{State: m.Unapproved.State, Reason: m.Unapproved.Reason, Message: m.Unapproved.Message}, pending
}

func unwell(m *Member) (v1alpha1.ClusterStatus, bool) {
	if m.Status == nil {
		return v1alpha1.ClusterStatus{}, false
	}
	worst := worstObject(m.Status)
	if worst == nil || stateOf[worst.Health] == "" {
		return v1alpha1.ClusterStatus{}, false
	}
	words := worst.Kind + " " + worst.Name
	if worst.Message != "" {
		words += ": " + worst.Message
	}
	state := stateOf[worst.Health]
	if health.IsBlocked(worst, m.Status.Subscriptions) {
		state = v1alpha1.StateStalled
	}
	return v1alpha1.ClusterStatus{State: state, Reason: worst.Reason, Message: words}, true
}

// redacted redacts what a line quotes, and cleans and cuts the line. It leaves out the object at the beginning: after a name such as
// api-token, the first word of the message would look like a secret.
func redacted(line string) string {
	object, message, ok := strings.Cut(line, ": ")
	if ok {
		object += ": " + health.Tidy(message, MaxMessage)
	}
	return health.Clean(object, MaxMessage)
}

// deprecated makes a line in state Healthy for a healthy object that its publisher has deprecated.
func deprecated(m *Member) (v1alpha1.ClusterStatus, bool) {
	if m.Status == nil {
		return v1alpha1.ClusterStatus{}, false
	}
	for i := range m.Status.Objects {
		if o := &m.Status.Objects[i]; o.Health == v1alpha1.Healthy && o.Reason == v1alpha1.ReasonDeprecated {
			return v1alpha1.ClusterStatus{State: v1alpha1.StateHealthy, Reason: o.Reason, Message: o.Kind + " " + o.Name + ": " + o.Message}, true
		}
	}
	return v1alpha1.ClusterStatus{}, false
}

func worstObject(status *v1alpha1.DeliveryStatus) *v1alpha1.ObjectStatus {
	var worst *v1alpha1.ObjectStatus
	for i := range status.Objects {
		o := &status.Objects[i]
		if worst == nil || rank(o, status.Subscriptions) > rank(worst, status.Subscriptions) {
			worst = o
		}
	}
	return worst
}

// rank orders the objects of a member: the line of the member shows the first one with the highest rank. A Degraded object has a
// lower rank than other Degraded objects if its reason may be only a consequence of another object's state. So has an operator that is
// ahead of its target, because it runs: a workload that fails has to be mended first, also if the manager does not reinstall the operator.
func rank(o *v1alpha1.ObjectStatus, subscriptions []v1alpha1.ObservedSubscription) int {
	switch {
	case health.IsBlocked(o, subscriptions):
		return 6
	case o.Health == v1alpha1.Degraded && o.Reason == v1alpha1.ReasonAheadOfTarget:
		return 4
	case o.Health == v1alpha1.Degraded && !cause.IsConsequence(o.Reason):
		return 5
	case o.Health == v1alpha1.Degraded:
		return 3
	case o.Health == v1alpha1.Waiting:
		return 2
	case o.Health == v1alpha1.Progressing:
		return 1
	}
	return 0
}
