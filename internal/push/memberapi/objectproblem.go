// SPDX-License-Identifier: Apache-2.0

package memberapi

import (
	"fmt"
	"time"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/push/plan"
)

// Trouble is a problem with one object. Its fields become a line of the wrapper's status.
type Trouble struct {
	State   v1alpha1.ClusterState
	Reason  string
	Message string
	// Retry is the time until the manager tries again when no event arrives; zero when only an event starts the next pass.
	Retry time.Duration
	// Overtaken is the Delivery about which a person has to decide whether the host's or the member's version counts; nil
	// for all other trouble.
	Overtaken *v1alpha1.DeliveryVersion
}

// Troubles are the problems with the objects of one pass, in the order in which they occurred.
type Troubles []Trouble

// Add appends a problem.
func (t *Troubles) Add(one Trouble) { *t = append(*t, one) }

// Stalled returns trouble that a person has to repair. Because the manager may get no event for the repair, it tries
// again every plan.RetryLater.
func Stalled(reason, format string, args ...any) Trouble {
	return Trouble{State: v1alpha1.StateStalled, Reason: reason, Message: fmt.Sprintf(format, args...), Retry: plan.RetryLater}
}

// Waiting returns trouble that ends without a person's help. retry is the time until the manager tries again; zero when
// a report of the collector starts the next pass.
func Waiting(retry time.Duration, reason, format string, args ...any) Trouble {
	return Trouble{State: v1alpha1.StateWaiting, Reason: reason, Message: fmt.Sprintf(format, args...), Retry: retry}
}

// Worst returns the trouble that a person should see first. Stalled comes first, then Degraded, Held and Waiting, in
// this order. Among several with the same state, it returns the first. all must not be empty.
func Worst(all []Trouble) Trouble {
	rank := map[v1alpha1.ClusterState]int{
		v1alpha1.StateStalled: 4, v1alpha1.StateDegraded: 3, v1alpha1.StateHeld: 2, v1alpha1.StateWaiting: 1,
	}
	worst := all[0]
	for _, t := range all[1:] {
		if rank[t.State] > rank[worst.State] {
			worst = t
		}
	}
	return worst
}
