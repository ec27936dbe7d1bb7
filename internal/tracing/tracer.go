// SPDX-License-Identifier: Apache-2.0

package tracing

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// scope names the code that made the spans.
const scope = "github.com/fairlead-dev/fairlead"

// The largest numbers of wrappers and of members that a Tracer follows at the same time. An open span of a member takes
// one to two KiB.
const (
	maxGenerations = 1024
	maxMembers     = 16384
)

// Tracer follows generations of wrappers. All methods may be called at the same time. On a nil Tracer they do nothing.
type Tracer struct {
	tracer trace.Tracer
	clock  clock.PassiveClock

	mu sync.Mutex
	// open has the generations under way. The key is the identity of the wrapper without uid and generation.
	open map[v1alpha1.WrapperIdentity]*generation
	// order has the keys of open. The oldest generation comes first.
	order []v1alpha1.WrapperIdentity
	// members is the number of open spans of members.
	members int
}

// New makes a Tracer that makes its spans with the provider.
func New(provider trace.TracerProvider, clk clock.PassiveClock) *Tracer {
	return &Tracer{tracer: provider.Tracer(scope), clock: clk, open: make(map[v1alpha1.WrapperIdentity]*generation)}
}

// generation is one generation of a wrapper, as the Tracer follows it.
type generation struct {
	of   v1alpha1.WrapperIdentity
	root trace.Span
	// steps are the steps that have succeeded. A later reconcile repeats them, and adds no span.
	steps map[string]bool
	// members has the open spans of members, by the name of the member.
	members map[string]*memberSpan
	// changed is the number of members that got a span. omitted is the number of changes for which a member got no span, because of
	// maxMembers.
	changed, omitted int
}

// keyOf returns the identity without uid and generation.
func keyOf(w v1alpha1.WrapperIdentity) v1alpha1.WrapperIdentity {
	w.UID, w.Generation = "", 0
	return w
}

// Begin begins to follow a generation of a wrapper, unless the Tracer follows it already. An earlier generation ends
// with Superseded. lag is how long ago the author wrote the generation, by the host's clock; 0 if that is not known.
func (t *Tracer) Begin(w v1alpha1.WrapperIdentity, lag time.Duration) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	key := keyOf(w)
	if known := t.open[key]; known != nil {
		if known.of == w {
			return
		}
		t.end(key, Superseded)
	}
	if len(t.order) >= maxGenerations {
		t.end(t.order[0], Evicted)
	}
	_, root := t.tracer.Start(context.Background(), spanRoot, trace.WithNewRoot(), trace.WithTimestamp(t.clock.Now()), trace.WithAttributes(about(w)...))
	if lag > 0 {
		root.SetAttributes(keyLag.Float64(lag.Seconds()))
	}
	t.open[key] = &generation{of: w, root: root, steps: make(map[string]bool), members: make(map[string]*memberSpan)}
	t.order = append(t.order, key)
}

// follows returns the generation if the Tracer follows and records it, and else nil. A sampler may have decided that
// the generation is not recorded. The caller holds the lock.
func (t *Tracer) follows(w v1alpha1.WrapperIdentity) *generation {
	if known := t.open[keyOf(w)]; known != nil && known.of == w && known.root.IsRecording() {
		return known
	}
	return nil
}

// Follows reports whether the Tracer records this generation. It is false if tracing is off.
func (t *Tracer) Follows(w v1alpha1.WrapperIdentity) bool {
	if t == nil {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.follows(w) != nil
}

// Step is one step of a reconcile that has ended.
type Step struct {
	// Name is SpanPlace or SpanRender.
	Name string
	// Began is the time at which the step began. The step ends now.
	Began time.Time
	// Revision is the revision of the present spec; "" if it is not known.
	Revision string
	// Failed is true if the step did not succeed. A later reconcile then repeats it in a further span.
	Failed bool
	// Counts has what the step counted, for example how many members it placed.
	Counts map[string]int
}

// Step records a step of a reconcile. A step that has succeeded for this generation before is not recorded again.
func (t *Tracer) Step(w v1alpha1.WrapperIdentity, step Step) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	g := t.follows(w)
	if g == nil || g.steps[step.Name] {
		return
	}
	g.steps[step.Name] = !step.Failed
	if step.Revision != "" {
		g.root.SetAttributes(keyRevision.String(step.Revision))
	}
	_, span := t.tracer.Start(trace.ContextWithSpan(context.Background(), g.root), step.Name, trace.WithTimestamp(step.Began))
	for name, n := range step.Counts {
		span.SetAttributes(attribute.Int("fairlead.members."+name, n))
	}
	if step.Failed {
		span.SetStatus(codes.Error, "")
	}
	span.End(trace.WithTimestamp(t.clock.Now()))
}

// End ends the generation of a wrapper that the Tracer follows, with the spans of its members. It does nothing if the
// Tracer follows none. The uid and the generation of w make no difference.
func (t *Tracer) End(w v1alpha1.WrapperIdentity, why Outcome) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end(keyOf(w), why)
}

// Close ends all generations with Interrupted. Without that, no exporter would get their spans.
func (t *Tracer) Close() {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.order) > 0 {
		t.end(t.order[0], Interrupted)
	}
}

func (t *Tracer) end(key v1alpha1.WrapperIdentity, why Outcome) {
	g := t.open[key]
	if g == nil {
		return
	}
	delete(t.open, key)
	for i := range t.order {
		if t.order[i] == key {
			t.order = append(t.order[:i], t.order[i+1:]...)
			break
		}
	}
	forMembers := why
	if why == Healthy {
		forMembers = Removed // a placed member would have ended as Healthy before
	}
	for name := range g.members {
		t.endMember(g, name, forMembers)
	}
	g.root.SetAttributes(keyOutcome.String(string(why)), keyMembersChanged.Int(g.changed))
	if g.omitted > 0 {
		g.root.SetAttributes(keyMembersOmitted.Int(g.omitted))
	}
	if why.isError() {
		g.root.SetStatus(codes.Error, string(why))
	}
	g.root.End(trace.WithTimestamp(t.clock.Now()))
}
