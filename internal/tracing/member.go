// SPDX-License-Identifier: Apache-2.0

package tracing

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// maxApplies is the largest number of passes of one member that get a span each. The Tracer only counts further passes.
// Without a limit there would be too many spans: a member that refuses an object gets a pass every two minutes.
const maxApplies = 16

// memberSpan is the open span of a member whose desired state has changed.
type memberSpan struct {
	span     trace.Span
	revision string
	attempts int
	// passing is true while a pass is under way. It may outlast the span: the manager can see that the member is Healthy before the pass
	// has returned.
	passing bool
	state   v1alpha1.ClusterState
	reason  string
}

// Changed begins the span of a member that got another desired state. It does nothing if the Tracer does not record
// this generation of the wrapper. revision is the revision that the member is to have; in a rollout it may be an
// earlier one.
func (t *Tracer) Changed(w v1alpha1.WrapperIdentity, memberName, revision string) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	g := t.follows(w)
	if g == nil {
		return
	}
	t.endMember(g, memberName, Superseded)
	if t.members >= maxMembers {
		g.omitted++
		return
	}
	_, span := t.tracer.Start(context.Background(), spanMember, trace.WithNewRoot(), trace.WithTimestamp(t.clock.Now()),
		trace.WithLinks(trace.Link{SpanContext: g.root.SpanContext()}),
		trace.WithAttributes(append(about(w), keyMember.String(memberName), keyRevision.String(revision))...))
	g.members[memberName] = &memberSpan{span: span, revision: revision}
	g.changed++
	t.members++
}

// Pass is one pass of package push that is under way. A nil *Pass is valid and does nothing: the member has no open span.
type Pass struct {
	tracer *Tracer
	member *memberSpan
	began  time.Time
}

// BeginPass begins a pass for a member. It returns nil if the member has no open span for this revision. A member has at most one pass at a
// time, and the caller has to call End or Drop for it.
func (t *Tracer) BeginPass(w v1alpha1.WrapperIdentity, memberName, revision string) *Pass {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	m := t.member(w, memberName)
	if m == nil || m.revision != revision {
		return nil
	}
	m.passing = true
	return &Pass{tracer: t, member: m, began: t.clock.Now()}
}

// Drop ends a pass that gets no span, because it had to wait, or because the connection to the member has ended.
// After End it does nothing.
func (p *Pass) Drop() {
	if p == nil {
		return
	}
	p.tracer.mu.Lock()
	defer p.tracer.mu.Unlock()
	p.member.passing = false
}

// PassResult is the result of a pass.
type PassResult struct {
	// Objects is the number of desired objects that the pass reached before it ended. Rejected is the number of those
	// that the member refused.
	Objects, Rejected int
	// Result is done, incomplete or error, as in the metric fairlead_pushes_total.
	Result string
	// Reason is the reason why the pass did not finish; "" if it did.
	Reason string
}

// End ends a pass, and records it below the span of its member, even if that span has ended meanwhile.
func (p *Pass) End(result PassResult) {
	if p == nil {
		return
	}
	t, m := p.tracer, p.member
	t.mu.Lock()
	defer t.mu.Unlock()
	m.passing = false
	if m.attempts++; m.attempts > maxApplies {
		return
	}
	_, span := t.tracer.Start(trace.ContextWithSpan(context.Background(), m.span), spanApply, trace.WithTimestamp(p.began),
		trace.WithAttributes(keyAttempt.Int(m.attempts), keyObjects.Int(result.Objects), keyRejected.Int(result.Rejected), keyResult.String(result.Result)))
	if result.Reason != "" {
		span.SetAttributes(keyReason.String(reasonOf(result.Reason)))
		span.SetStatus(codes.Error, "")
	}
	span.End(trace.WithTimestamp(t.clock.Now()))
}

// IsOpen reports whether a member has an open span. Only then the caller has to call Observed.
func (t *Tracer) IsOpen(w v1alpha1.WrapperIdentity, memberName string) bool {
	if t == nil {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.member(w, memberName) != nil
}

// Observed records the present state of a member. The member's span ends if the state is final.
func (t *Tracer) Observed(w v1alpha1.WrapperIdentity, memberName string, state v1alpha1.ClusterState, reason string) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	m := t.member(w, memberName)
	if m == nil {
		return
	}
	if reason = reasonOf(reason); m.state != state || m.reason != reason {
		m.state, m.reason = state, reason
		m.span.AddEvent(eventState, trace.WithTimestamp(t.clock.Now()), trace.WithAttributes(keyState.String(string(state)), keyReason.String(reason)))
	}
	if isFinal(state) {
		t.endMember(t.follows(w), memberName, Outcome(state))
	}
}

// member returns the open span of a member; nil if there is none. The caller holds the lock.
func (t *Tracer) member(w v1alpha1.WrapperIdentity, memberName string) *memberSpan {
	if g := t.follows(w); g != nil {
		return g.members[memberName]
	}
	return nil
}

func (t *Tracer) endMember(g *generation, memberName string, why Outcome) {
	m := g.members[memberName]
	if m == nil {
		return
	}
	delete(g.members, memberName)
	t.members--
	attempts := m.attempts
	if m.passing {
		attempts++
	}
	m.span.SetAttributes(keyOutcome.String(string(why)), keyAttempts.Int(attempts))
	if m.state != "" {
		m.span.SetAttributes(keyState.String(string(m.state)), keyReason.String(m.reason))
	}
	if isTrouble(m.state) {
		m.span.SetStatus(codes.Error, string(m.state))
	}
	m.span.End(trace.WithTimestamp(t.clock.Now()))
}
