// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// Times after which a pass is tried again without any event.
const (
	// RetrySoon is for changes under way: a namespace that terminates, an object that is being deleted.
	RetrySoon = 2 * time.Second
	// RetryLater is for faults that a person has to repair, since the host does not learn of every repair.
	RetryLater = 2 * time.Minute
)

// Kept is an object that a member keeps after its wrapper dropped it.
type Kept struct {
	// Object is its kind and name, Why the reason as words that follow "because".
	Object, Why string
}

func (k Kept) String() string { return k.Object + ": " + k.Why }

// Outcome is the result of the last pass of a pair.
type Outcome struct {
	// Done reports whether the member holds exactly the desired state (or was left), as of this pass.
	Done bool
	// Recorded reports whether the Delivery records all that the pass did, and no object has the annotation keep. A change that
	// drops that annotation needs an intent.
	Recorded bool
	// State, Reason and Message describe the problem when Done is false.
	State   v1alpha1.ClusterState
	Reason  string
	Message string
	// Retry is the time until the manager tries again without any event; zero waits for a change.
	Retry time.Duration
	// Kept are objects that the pass left on the member, each with the reason. Fairlead does not manage them from now
	// on.
	Kept []Kept
	// Overtaken is the Delivery for which the pair is held, until a person decides whether the host's or the member's
	// version counts; nil when the pair is not held.
	Overtaken *v1alpha1.DeliveryVersion

	// Desired is the desired state of the pass; UID and Generation are those of the Delivery after the pass.
	Desired    *Desired
	UID        types.UID
	Generation int64
	// Unrepaired are the drifted objects that the pass had to repair and could not.
	Unrepaired []ObjectID
	// Again is when the pair is tried again by itself; zero when it waits for a change. Set by History.
	Again time.Time
}

// LeftDrift reports whether the pass could not repair some drift.
func (o *Outcome) LeftDrift() bool { return len(o.Unrepaired) > 0 }

// isOvertakenBy reports whether a desired state with the same writes may succeed although the last pass was held: a
// host that was behind the member has caught up.
func (o *Outcome) isOvertakenBy(w *Desired) bool {
	return o.Reason == v1alpha1.ReasonHostBehindMember && w.Wrapper.Generation > o.Desired.Wrapper.Generation
}

// withUnrepaired adds the repairs that the last pass failed to make and that this pass did not try. If this pass has no
// trouble of its own, they are still the reported trouble. They keep the time of their next try.
func (o Outcome) withUnrepaired(last Outcome, still []ObjectID) Outcome {
	if len(still) == 0 {
		return o
	}
	if o.Done {
		o.Done, o.State, o.Reason, o.Message = false, last.State, last.Reason, last.Message
	}
	o.Unrepaired, o.Again = append(o.Unrepaired, still...), last.Again
	return o
}
