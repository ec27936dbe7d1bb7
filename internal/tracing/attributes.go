// SPDX-License-Identifier: Apache-2.0

package tracing

import (
	"go.opentelemetry.io/otel/attribute"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/cause"
)

// The names of the spans. docs/operations/tracing.md lists them.
const (
	spanRoot   = "federate"
	spanMember = "member"
	spanApply  = "apply"
	// SpanPlace is the step that decides on which members the wrapper is placed.
	SpanPlace = "place"
	// SpanRender is the step that renders the objects for each member.
	SpanRender = "render"
	// eventState is the event that the Tracer adds to a member's span when the state or the reason of the member changes.
	eventState = "state"
)

// The names of the attributes. docs/operations/tracing.md lists them.
const (
	keyKind           = attribute.Key("fairlead.wrapper.kind")
	keyNamespace      = attribute.Key("k8s.namespace.name")
	keyName           = attribute.Key("fairlead.wrapper.name")
	keyUID            = attribute.Key("fairlead.wrapper.uid")
	keyGeneration     = attribute.Key("fairlead.wrapper.generation")
	keyRevision       = attribute.Key("fairlead.revision")
	keyLag            = attribute.Key("fairlead.write_lag_seconds")
	keyMember         = attribute.Key("fairlead.member")
	keyMembersChanged = attribute.Key("fairlead.members.changed")
	keyMembersOmitted = attribute.Key("fairlead.members.untraced")
	keyOutcome        = attribute.Key("fairlead.outcome")
	keyState          = attribute.Key("fairlead.state")
	keyReason         = attribute.Key("fairlead.reason")
	keyAttempt        = attribute.Key("fairlead.attempt")
	keyAttempts       = attribute.Key("fairlead.attempts")
	keyObjects        = attribute.Key("fairlead.objects")
	keyRejected       = attribute.Key("fairlead.objects.rejected")
	keyResult         = attribute.Key("fairlead.result")
)

// about returns the attributes that name a generation of a wrapper.
func about(w v1alpha1.WrapperIdentity) []attribute.KeyValue {
	attributes := []attribute.KeyValue{
		keyKind.String(string(w.Kind)), keyName.String(w.Name), keyUID.String(string(w.UID)), keyGeneration.Int64(w.Generation),
	}
	if w.Namespace != "" { // a ClusterFederated has none
		attributes = append(attributes, keyNamespace.String(w.Namespace))
	}
	return attributes
}

// Outcome is the reason why a span ended.
type Outcome string

// Outcomes of the root span. If the root span ends as Healthy, the open spans of its members end as Removed. If it ends
// with another outcome, they end with the same outcome. A span of a member may end earlier. Its outcome is then the state
// of the member (Healthy, Stalled or Held), or Superseded.
const (
	// Healthy means that, by the status, all placed members have the update revision and are Healthy.
	Healthy Outcome = "Healthy"
	// NotPlaced means that the wrapper is placed on no member.
	NotPlaced Outcome = "NotPlaced"
	// Invalid means that the manager can place or render nothing from this spec.
	Invalid Outcome = "Invalid"
	// RolledBack means that the rollout took the members back to an earlier revision.
	RolledBack Outcome = "RolledBack"
	// Superseded means that the wrapper has a newer generation. On a span of a member it can also mean that the member got
	// another desired state.
	Superseded Outcome = "Superseded"
	// Deleted means that the wrapper is being deleted, or is gone.
	Deleted Outcome = "Deleted"
	// Evicted means that the Tracer gave up this generation, the oldest, because it already followed
	// maxGenerations wrappers when a new one came.
	Evicted Outcome = "Evicted"
	// Interrupted means that the manager stopped.
	Interrupted Outcome = "Interrupted"
	// Removed means that the wrapper is no longer placed on the member. Only a span of a member has it.
	Removed Outcome = "Removed"
)

// isError reports whether a root span with this outcome has the status Error.
func (o Outcome) isError() bool {
	switch o {
	case Invalid, RolledBack, Superseded, Evicted:
		return true
	}
	return false
}

// isFinal reports whether the manager has done all it can for a member in this state. A member that is Stalled or Held
// waits for a person.
func isFinal(state v1alpha1.ClusterState) bool {
	return state == v1alpha1.StateHealthy || state == v1alpha1.StateStalled || state == v1alpha1.StateHeld
}

// isTrouble reports whether the span of a member that ends in this state has the status Error.
func isTrouble(state v1alpha1.ClusterState) bool {
	return state == v1alpha1.StateDegraded || state == v1alpha1.StateStalled || state == v1alpha1.StateUnreachable
}

// otherReason stands for each reason that is not known.
const otherReason = "Other"

// reasonOf returns a reason if it is known, and otherReason if it is not. The text may come from a member, which is not
// trusted.
func reasonOf(text string) string {
	if text == "" || cause.IsKnown(text) {
		return text
	}
	return otherReason
}
