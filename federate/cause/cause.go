// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"cmp"
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/messages"
)

// Cause is one problem, or one reason to wait, and the members that have it. hostctl prints it as JSON, so the names of its
// fields are stable.
type Cause struct {
	// Reason is the reason of the members' lines. It is "" if the lines have none.
	Reason string `json:"reason,omitempty"`
	// State is the state of the members. A cause without members is Stalled or Held.
	State v1alpha1.ClusterState `json:"state"`
	// NeedsPerson is true if the cause does not go away by itself.
	NeedsPerson bool `json:"needsPerson"`
	// Object is the kind and the name of the object that the message is about; "" if the message names none at its beginning.
	Object string `json:"object,omitempty"`
	// Message is the message in the line of the member that Sample names. A cause without members has the message of a
	// condition.
	Message string `json:"message,omitempty"`
	// Sample is the member that has been in this state for the longest time; "" without members.
	Sample string `json:"sample,omitempty"`
	// MayFollowFrom is the reason of another cause in the list, of which this cause may be a consequence; "" if the list
	// has no such cause.
	MayFollowFrom string `json:"mayFollowFrom,omitempty"`
	// Next is the next step for a person, in one sentence. It follows from the reason, or from the state if the reason is not known. It is
	// "" if neither tells a step.
	Next string `json:"next,omitempty"`
	// Documentation is the section of the documentation that has the reason: a path in the repository, with an anchor.
	Documentation string `json:"documentation,omitempty"`
	// Members are the members that have the cause, sorted by name. It is empty for a cause that concerns the wrapper itself.
	Members []Member `json:"members"`

	text string // the normalized message
}

// Member is one member that has a cause.
type Member struct {
	Name string `json:"name"`
	// Since is the time at which the state or the revision of the member last changed.
	Since metav1.Time `json:"since,omitempty,omitzero"`
}

// Of returns the causes in the status of a wrapper, in the order in which a person should act. Every line that is not Healthy is
// in exactly one cause. The order of the lines has no influence on the result.
func Of(w v1alpha1.Wrapper) []Cause {
	status := w.WrapperStatus()
	causes := fold(status.Clusters)
	if c, ok := ofWrapper(status); ok && !slices.ContainsFunc(causes, func(other Cause) bool { return other.Reason == c.Reason }) {
		causes = append(causes, c)
	}
	sort(causes)
	argument := messages.Argument(w.WrapperKind(), w.GetNamespace(), w.GetName())
	for i := range causes {
		causes[i].explain(argument, causes)
	}
	return causes
}

// key has the properties that the lines of one cause have in common.
type key struct {
	reason string
	state  v1alpha1.ClusterState
	text   string
}

// fold makes causes from the lines: lines that are not Healthy, with the same reason, state and normalized message, become one cause.
// For members that the manager cannot reach, it ignores the messages: they are errors of different connections, and all mean the same.
func fold(lines []v1alpha1.ClusterStatus) []Cause {
	groups := make(map[key][]*v1alpha1.ClusterStatus)
	for i := range lines {
		l := &lines[i]
		if l.State == v1alpha1.StateHealthy {
			continue
		}
		k := key{reason: l.Reason, state: l.State}
		if !isUnreached(l.State) {
			k.text = Normalize(l.Name, l.Message)
		}
		groups[k] = append(groups[k], l)
	}
	causes := make([]Cause, 0, len(groups))
	for k, group := range groups {
		sample := slices.MinFunc(group, earlier)
		c := Cause{Reason: k.reason, State: k.state, Object: objectOf(sample.Message), Message: sample.Message, Sample: sample.Name, text: k.text}
		for _, l := range group {
			c.Members = append(c.Members, Member{Name: l.Name, Since: l.LastTransitionTime})
		}
		slices.SortFunc(c.Members, func(a, b Member) int { return cmp.Compare(a.Name, b.Name) })
		causes = append(causes, c)
	}
	return causes
}

// earlier orders lines by the time since which they have their state, and then by name. A line without a time comes last.
func earlier(a, b *v1alpha1.ClusterStatus) int {
	if a.LastTransitionTime.IsZero() != b.LastTransitionTime.IsZero() {
		if a.LastTransitionTime.IsZero() {
			return 1
		}
		return -1
	}
	return cmp.Or(a.LastTransitionTime.Compare(b.LastTransitionTime.Time), cmp.Compare(a.Name, b.Name))
}

// ofWrapper makes the cause that concerns the wrapper itself and no single member; ok is false if there is none. The cause is
// one of four: the manager cannot render the spec, the placement selects no member, the placement names a member that does not exist,
// or a removal waits for approval. A wrapper that is being deleted has no such cause.
func ofWrapper(status *v1alpha1.WrapperStatus) (Cause, bool) {
	ready := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady)
	placed := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionPlaced)
	switch {
	case ready != nil && ready.Reason == v1alpha1.ReasonDeleting:
	case ready != nil && ready.Status == metav1.ConditionFalse && ready.Reason == v1alpha1.ReasonSpecInvalid:
		return Cause{Reason: ready.Reason, State: v1alpha1.StateStalled, Message: ready.Message, Members: []Member{}}, true
	case placed != nil && placed.Status == metav1.ConditionFalse:
		c := Cause{Reason: placed.Reason, State: v1alpha1.StateStalled, Message: placed.Message, Members: []Member{}}
		if c.Reason == v1alpha1.ReasonRemovalNeedsApproval {
			c.State = v1alpha1.StateHeld
		}
		return c, true
	}
	return Cause{}, false
}

// object matches the object at the beginning of a message. The package report begins the message of a line with kind and name.
var object = regexp.MustCompile(`^([A-Z][A-Za-z0-9]* [a-z0-9](?:[-a-z0-9.:]*[a-z0-9])?)(?:: |$| was (?:changed|deleted) )`)

// objectOf returns the kind and the name of the object at the beginning of a message; "" if there is none.
func objectOf(message string) string {
	if found := object.FindStringSubmatch(message); found != nil {
		return found[1]
	}
	return ""
}

// explain fills in NeedsPerson, Next and Documentation, which follow from the reason and the state, and MayFollowFrom, which follows
// from the other causes.
func (c *Cause) explain(wrapper string, all []Cause) {
	c.NeedsPerson = c.urgency() == urgencyPerson || c.State == v1alpha1.StateUnreachable
	c.Next, c.Documentation = stepOf(c.Reason, c.State, wrapper)
	for i := range all {
		if MayFollow(c.Reason, all[i].Reason) {
			c.MayFollowFrom = all[i].Reason
			return
		}
	}
}
