// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/health"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
)

// How long the manager waits before it tries a pass again when no event arrives.
const (
	// RetrySoon is for changes that are under way, for example while a namespace or an object is being deleted.
	RetrySoon = 2 * time.Second
	// RetryLater is for faults that a person has to repair. The manager tries again because it gets no event for some of
	// these repairs.
	RetryLater = 2 * time.Minute
)

// maxQuoted is the largest number of bytes that a message quotes of an error.
const maxQuoted = 1024

// Quote returns the text of an error as the message of an outcome may have it: on one line, without secrets, and cut. A member's answer
// can contain any text: API servers quote values of the refused object, and the author of a webhook chooses its text. More people
// read statuses and events than may read the objects.
func Quote(text string) string { return health.Tidy(text, maxQuoted) }

// Kept is an object that stays on a member after its wrapper dropped it or left the member.
type Kept struct {
	// Reason is v1alpha1.ReasonKept for an object of the wrapper. It is v1alpha1.ReasonOperatorLeft for a ClusterServiceVersion that OLM
	// installed for a Subscription of the wrapper.
	Reason string
	// Object is the kind and name of the object. A ClusterServiceVersion has its namespace too: "ClusterServiceVersion NAMESPACE/NAME".
	Object string
	// Why is the reason, in words that can follow "because".
	Why string
}

func (k Kept) String() string { return k.Object + ": " + k.Why }

// Outcome is the result of the last pass of one wrapper on one member.
type Outcome struct {
	// Done reports whether the member has exactly the desired state after this pass, or the wrapper has left the member
	// completely.
	Done bool
	// Recorded reports whether the Delivery records all that the pass did, and no desired object has the annotation keep.
	// If an object has the annotation, a later change that drops the annotation needs an intent.
	Recorded bool
	// State is the state of the pair when Done is false.
	State v1alpha1.ClusterState
	// Reason is the machine-readable reason of the problem when Done is false.
	Reason string
	// Message describes the problem when Done is false.
	Message string
	// Retry is the time until the manager tries again when no event arrives; zero when only an event starts the next pass.
	Retry time.Duration
	// Kept are the objects that the pass left on the member, each with the reason. Fairlead does not manage them any more.
	Kept []Kept
	// Overtaken is the Delivery about which a person has to decide whether the host's or the member's version counts; nil
	// when no such decision is needed. Until that decision the pair is held.
	Overtaken *v1alpha1.DeliveryVersion

	// Desired is the desired state of the pass.
	Desired *Desired
	// UID is the uid of the Delivery after the pass; "" when the pass left no Delivery.
	UID types.UID
	// Generation is the generation of the Delivery after the pass; 0 when the pass left no Delivery.
	Generation int64
	// Unrepaired are the drifted objects that this pass could not repair. History adds objects that an earlier pass could
	// not repair, if they still drift and this pass did not try to repair them.
	Unrepaired []ObjectID
	// Again is the time at which the manager tries again if no event arrives; zero when only an event starts the next
	// pass. History sets it.
	Again time.Time
}

// LeftDrift reports whether an object still drifts because this pass, or an earlier one, could not repair it.
func (o *Outcome) LeftDrift() bool { return len(o.Unrepaired) > 0 }

// isOvertakenBy reports whether a pass for the desired state w may succeed although the last pass was held. That is so
// if the host had an older generation of the wrapper than the member, and w has a later generation than the last pass
// had.
func (o *Outcome) isOvertakenBy(w *Desired) bool {
	return o.Reason == v1alpha1.ReasonHostBehindMember && w.Wrapper.Generation > o.Desired.Wrapper.Generation
}

// withUnrepaired returns the outcome o of this pass with more objects in Unrepaired. These are the objects in the
// argument still: the pass before (last) could not repair them, and this pass did not try to. If this pass has no
// problem of its own, the result has the problem of the pass before. The next try of these objects stays due at the
// same time.
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

// retries reports whether the time of the next try, which History set, has come.
func (o *Outcome) retries(now time.Time) bool {
	return !o.Again.IsZero() && !now.Before(o.Again)
}

// stillUnrepaired compares the outcome o of one pass with the pass after it, which has ended too. It returns the objects
// in o.Unrepaired that still drift and that the later pass did not try to repair. It leaves out objects that are no
// longer desired. A Secret counts as drifting, because no collector reports the drift of Secrets. desired and todo are
// the desired state and the work of the later pass.
func (o *Outcome) stillUnrepaired(desired *Desired, todo *Work, seen *deliveries.Summary) []ObjectID {
	drifting := make(map[ObjectID]bool)
	for _, d := range seen.Drifts() {
		drifting[ObjectID{Group: d.Group, Kind: d.Kind, Name: d.Name}] = true
	}
	var still []ObjectID
	for _, id := range o.Unrepaired {
		if _, tried := todo.Drifted[id]; !tried && desired.Lists(id) && (drifting[id] || id.IsSecret()) {
			still = append(still, id)
		}
	}
	return still
}
