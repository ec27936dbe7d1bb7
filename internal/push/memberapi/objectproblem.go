// SPDX-License-Identifier: Apache-2.0

package memberapi

import (
	"fmt"
	"time"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/push/plan"
)

// Trouble is a problem with one object.
type Trouble struct {
	State   v1alpha1.ClusterState
	Reason  string
	Message string
	// Retry is when the manager looks again without any event; zero waits for a change.
	Retry time.Duration
	// Overtaken is the Delivery about which a person has to decide; nil for all other trouble.
	Overtaken *v1alpha1.DeliveryVersion
}

// Troubles collects the problems with the objects of one pass, in the order in which they occurred.
type Troubles []Trouble

// Add adds one.
func (t *Troubles) Add(one Trouble) { *t = append(*t, one) }

// Stalled is trouble that a person has to repair.
func Stalled(reason, format string, args ...any) Trouble {
	return Trouble{State: v1alpha1.StateStalled, Reason: reason, Message: fmt.Sprintf(format, args...), Retry: plan.RetryLater}
}

// Waiting is trouble that ends by itself. If retry is zero, a collector's report wakes the pair.
func Waiting(retry time.Duration, reason, format string, args ...any) Trouble {
	return Trouble{State: v1alpha1.StateWaiting, Reason: reason, Message: fmt.Sprintf(format, args...), Retry: retry}
}

// Worst picks the trouble that a person should see first.
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
