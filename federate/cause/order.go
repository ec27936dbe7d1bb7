// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"cmp"
	"slices"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// urgency is how soon a person should look: a smaller number comes first. The order also counts the urgency of the consequences.
type urgency int

const (
	urgencyPerson    urgency = iota // a person has to act
	urgencyUnreached                // the manager does not reach the member
	urgencyWorking                  // the manager, or a controller of the member, works on it
	urgencyWaiting                  // something else has to happen first
)

func (c *Cause) urgency() urgency {
	if c.Reason == v1alpha1.ReasonApprovalRequired {
		return urgencyPerson // the state is Progressing or Waiting, but only a person approves the InstallPlan
	}
	switch c.State {
	case v1alpha1.StateStalled, v1alpha1.StateHeld, v1alpha1.StateDegraded:
		return urgencyPerson
	case v1alpha1.StateUnreachable, v1alpha1.StateUnknown:
		return urgencyUnreached
	case v1alpha1.StateWaiting:
		return urgencyWaiting
	}
	return urgencyWorking
}

func isUnreached(state v1alpha1.ClusterState) bool {
	return state == v1alpha1.StateUnreachable || state == v1alpha1.StateUnknown
}

// tooFew are the reasons that kstatus, the Deployment controller or the collector give while a workload has too few ready pods.
var tooFew = []string{podNotReady, v1alpha1.ReasonProgressDeadlineExceeded, lessReplicas, lessUpdated, lessAvailable, lessReady, inProgress}

// IsConsequence reports whether a reason says only that a workload has too few ready pods, or that the scheduler does not place its pods.
// The cause may then be the state of another object: a claim is not bound, or a Secret is missing.
func IsConsequence(reason string) bool {
	return reason == unschedulable || slices.Contains(tooFew, reason)
}

// consequences has, for a reason, the reasons that it is known to cause. The relation has no cycles.
var consequences = map[string][]string{
	transientFailure:                     {catalogSourcesUnhealthy, resolutionFailed, bundleUnpackFailed, v1alpha1.ReasonTargetNotInCatalog, v1alpha1.ReasonAPINotServed},
	catalogSourcesUnhealthy:              {resolutionFailed, bundleUnpackFailed, v1alpha1.ReasonTargetNotInCatalog, v1alpha1.ReasonAPINotServed},
	v1alpha1.ReasonNoOperatorGroup:       {v1alpha1.ReasonAPINotServed},
	v1alpha1.ReasonOperatorGroupExists:   {v1alpha1.ReasonAPINotServed},
	v1alpha1.ReasonTooManyOperatorGroups: {v1alpha1.ReasonAPINotServed},
	v1alpha1.ReasonApprovalRequired:      {v1alpha1.ReasonAPINotServed},
	requirementsNotMet:                   {v1alpha1.ReasonAPINotServed},
	resolutionFailed:                     {v1alpha1.ReasonAPINotServed},
	bundleUnpackFailed:                   {resolutionFailed, v1alpha1.ReasonAPINotServed},
	installPlanFailed:                    {v1alpha1.ReasonAPINotServed},
	v1alpha1.ReasonAPINotServed:          {v1alpha1.ReasonInvalid, v1alpha1.ReasonRefused},

	v1alpha1.ReasonNoDefaultClass: unscheduledBy(v1alpha1.ReasonClaimPending),
	v1alpha1.ReasonClassNotFound:  unscheduledBy(v1alpha1.ReasonClaimPending),
	provisioningFailed:            unscheduledBy(v1alpha1.ReasonClaimPending),
	v1alpha1.ReasonClaimLost:      unscheduledBy(),
	v1alpha1.ReasonClaimPending:   unscheduledBy(),

	failedCreate:               tooFew,
	unschedulable:              tooFew,
	imagePullBackOff:           tooFew,
	createContainerConfigError: tooFew,
	crashLoopBackOff:           append([]string{backoffLimitExceeded}, tooFew...),
	oomKilled:                  append([]string{crashLoopBackOff, backoffLimitExceeded}, tooFew...),

	// A Job counts a pod of these reasons as failed. It does not count a pod whose containers never start.
	containerError:     {backoffLimitExceeded},
	podFailed:          {backoffLimitExceeded},
	evicted:            {backoffLimitExceeded},
	runContainerError:  {backoffLimitExceeded},
	postStartHookError: {backoffLimitExceeded},
}

// MayFollow reports whether the reason from is known to cause the other reason.
func MayFollow(reason, from string) bool { return slices.Contains(consequences[from], reason) }

// ofPods are the reasons of pods and containers.
var ofPods = []string{failedCreate, unschedulable, imagePullBackOff, createContainerConfigError, crashLoopBackOff, oomKilled, containerError, podFailed,
	evicted, runContainerError, postStartHookError}

// ConcernsOthers reports whether an object with this reason may bring other objects of the member into trouble. What is wrong with a pod
// concerns the workload of that pod only.
func ConcernsOthers(reason string) bool { return !slices.Contains(ofPods, reason) }

// unscheduledBy returns the reasons that follow when a claim has no volume: the reason of pods that the scheduler does
// not place, the reasons of a workload with too few ready pods, and those in the argument others.
func unscheduledBy(others ...string) []string {
	return append(append(others, unschedulable), tooFew...)
}

// MostUrgent returns the first of the causes whose own state is the most urgent; nil for an empty list. A less urgent cause that leads to it
// can come before it in the list. A summary of a wrapper has its state.
func MostUrgent(causes []Cause) *Cause {
	if len(causes) == 0 {
		return nil
	}
	most := &causes[0]
	for i := range causes {
		if causes[i].urgency() < most.urgency() {
			most = &causes[i]
		}
	}
	return most
}

// sort orders the causes. Equal causes do not exist, so the order is total.
func sort(causes []Cause) {
	reasons := make([]string, 0, len(causes))
	for i := range causes {
		reasons = append(reasons, causes[i].Reason)
	}
	depths, inherited := Depths(reasons), inheritedUrgencies(causes)
	slices.SortFunc(causes, func(a, b Cause) int {
		return cmp.Or(cmp.Compare(min(a.urgency(), inherited[a.Reason]), min(b.urgency(), inherited[b.Reason])), cmp.Compare(min(len(a.Members), 1), min(len(b.Members), 1)),
			cmp.Compare(depths[a.Reason], depths[b.Reason]), cmp.Compare(len(b.Members), len(a.Members)),
			cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.State, b.State), cmp.Compare(a.text, b.text))
	})
}

// inheritedUrgencies returns for each reason the smallest urgency among the causes to which the reason leads, directly or through
// others. A cause is as urgent as these, because they may go away with it.
func inheritedUrgencies(causes []Cause) map[string]urgency {
	own, inherited := make(map[string]urgency, len(causes)), make(map[string]urgency, len(causes))
	for i := range causes {
		reason := causes[i].Reason
		own[reason], inherited[reason] = urgencyWaiting, urgencyWaiting
	}
	for i := range causes {
		own[causes[i].Reason] = min(own[causes[i].Reason], causes[i].urgency())
	}
	// As in Depths, a path has at most as many steps as there are reasons.
	for range len(own) {
		for reason := range own {
			for _, next := range consequences[reason] {
				if urgent, ok := own[next]; ok {
					inherited[reason] = min(inherited[reason], urgent, inherited[next])
				}
			}
		}
	}
	return inherited
}

// Depths returns a number for each of the reasons. If one of them is known to cause another, the consequence has the greater
// number. A reason that none of the others causes has 0.
func Depths(reasons []string) map[string]int {
	depths := make(map[string]int, len(reasons))
	for _, reason := range reasons {
		depths[reason] = 0
	}
	// A path through the relation has at most as many steps as there are reasons.
	for range len(depths) {
		for reason := range depths {
			for _, next := range consequences[reason] {
				if depth, ok := depths[next]; ok {
					depths[next] = max(depth, depths[reason]+1)
				}
			}
		}
	}
	return depths
}
