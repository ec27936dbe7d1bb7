// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/messages"
)

// maxNamesInMessage is the greatest number of names that one message lists. status.placement lists all names.
const maxNamesInMessage = 10

// explain sets the condition Placed. Its message begins with the removals that wait, because a mistake may be the
// reason for them. Names without a MemberCluster follow.
func (d *Decision) explain(in Input, p limitedRemovals, selected int) {
	members := len(in.Members)
	switch {
	case len(d.Status.Withheld) > 0:
		d.Placed, d.Reason = metav1.ConditionFalse, v1alpha1.ReasonRemovalNeedsApproval
		d.Message = waits(in.Wrapper, p)
		if len(d.Status.NotFound) > 0 {
			d.Message += "; no MemberCluster is named " + list(d.Status.NotFound)
		}
	case len(d.Status.NotFound) > 0:
		d.Placed, d.Reason = metav1.ConditionFalse, v1alpha1.ReasonClusterNotFound
		d.Message = fmt.Sprintf("%s; %s", Unknown{Field: "spec.placement.clusters.names", Names: d.Status.NotFound}, served(selected))
	case selected == 0 && members == 0:
		d.Placed, d.Reason = metav1.ConditionFalse, v1alpha1.ReasonNoClusterMatches
		d.Message = "the fleet has no member yet; `hostctl join` adds one"
	case selected == 0:
		d.Placed, d.Reason = metav1.ConditionFalse, v1alpha1.ReasonNoClusterMatches
		d.Message = fmt.Sprintf("spec.placement.clusters selects none of the %s (see `kubectl get memberclusters --show-labels`)", messages.Count(members, "member"))
	default:
		d.Placed, d.Reason = metav1.ConditionTrue, v1alpha1.ReasonPlaced
		d.Message = fmt.Sprintf("%d of %s", selected, messages.Count(members, "member"))
	}
	if d.Notice != "" {
		d.Message += "; " + d.Notice
	}
}

// waits describes the removals that wait: when the next may begin, and how the author starts or cancels them.
func waits(id v1alpha1.WrapperIdentity, p limitedRemovals) string {
	begun := 0
	for _, r := range p.removals {
		begun += int(r.Count)
	}
	which := fmt.Sprintf("%d of the %d members that have this wrapper", len(p.withheld), p.placed)
	if p.placed == 1 {
		which = "the one member that has this wrapper"
	}
	return fmt.Sprintf("spec.placement no longer selects %s: %s. The removal waits, because spec.rollout.maxRemoval "+
		"allows %d removals from %s within an hour, and %d have begun. The manager may begin the next at %s. "+
		"To remove the wrapper from all of them now, run `%s --removal`. To keep it there, restore spec.placement or the labels of these members",
		which, list(p.withheld),
		p.limit, messages.Count(p.placed, "member"), begun, p.again.UTC().Format(time.RFC3339), messages.ApproveCommand(id.Kind, id.Namespace, id.Name))
}

func served(placed int) string {
	switch placed {
	case 0:
		return "no other member is selected"
	case 1:
		return "the one other selected member is served"
	default:
		return fmt.Sprintf("the %d other selected members are served", placed)
	}
}

func list(names []string) string { return messages.Few(names, maxNamesInMessage) }
