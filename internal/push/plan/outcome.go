// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// Times after which a pass is tried again without any event.
const (
	// RetrySoon is for what is on its way: a namespace that terminates, an object being deleted.
	RetrySoon = 2 * time.Second
	// RetryLater is for what a person has to repair, since the host does not learn of every repair.
	RetryLater = 2 * time.Minute
)

// Kept is an object that a member keeps although its wrapper lets go of it.
type Kept struct {
	// Object is its kind and name, Why the reason as words that follow "because".
	Object, Why string
}

func (k Kept) String() string { return k.Object + ": " + k.Why }

// Outcome is how far the last pass of a pair got.
type Outcome struct {
	// Done is whether the member holds just what was wanted (or was left), as of this pass.
	Done bool
	// State, Reason and Message say what is in the way when it is not done.
	State   v1alpha1.ClusterState
	Reason  string
	Message string
	// Retry is when to try again by ourselves; zero waits for a change.
	Retry time.Duration
	// Kept are objects that the pass left on the member, out of care from now on, each with the reason.
	Kept []Kept
	// Overtaken is the Delivery that the pair is held for, until a person says whose word counts; nil when
	// it is not.
	Overtaken *v1alpha1.DeliveryVersion

	// Desired is what the pass was for; UID and Generation are the Delivery's as the pass left it.
	Desired    *Desired
	UID        types.UID
	Generation int64
	// Unmended are the drifted objects that the pass was to repair and could not.
	Unmended []ObjectID
	// Again is when the pair is tried again by itself; zero when it waits for a change. Set by History.
	Again time.Time
}

// IsUnmended reports whether something that drifted could not be repaired.
func (o *Outcome) IsUnmended() bool { return len(o.Unmended) > 0 }

// isOvertakenBy reports whether a desired state that asks for the same writes may succeed where the last one was held: a
// host that was behind the member has caught up.
func (o *Outcome) isOvertakenBy(w *Desired) bool {
	return o.Reason == v1alpha1.ReasonHostBehindMember && w.Wrapper.Generation > o.Desired.Wrapper.Generation
}

// beside is the outcome of a pass that had nothing to do with what the last one left unmended: that still is
// the trouble where this one had none, and is tried again when it was to be.
func (o Outcome) beside(last Outcome, still []ObjectID) Outcome {
	if len(still) == 0 {
		return o
	}
	if o.Done {
		o.Done, o.State, o.Reason, o.Message = false, last.State, last.Reason, last.Message
	}
	o.Unmended, o.Again = append(o.Unmended, still...), last.Again
	return o
}
