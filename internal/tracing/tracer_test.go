// SPDX-License-Identifier: Apache-2.0

package tracing

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/testing/secretcorpus"
)

var (
	began = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	web   = v1alpha1.WrapperIdentity{Kind: v1alpha1.KindFederated, Namespace: "shop", Name: "web", UID: "u", Generation: 3}
)

// recorder is a Tracer that keeps its spans in memory, with a fake clock.
type recorder struct {
	*Tracer
	spans *tracetest.InMemoryExporter
	clock *clocktesting.FakePassiveClock
}

func newRecorder(t testing.TB, options ...sdk.TracerProviderOption) *recorder {
	t.Helper()
	r := &recorder{spans: tracetest.NewInMemoryExporter(), clock: clocktesting.NewFakePassiveClock(began)}
	provider := sdk.NewTracerProvider(append(options, sdk.WithSyncer(r.spans))...)
	t.Cleanup(func() { _ = provider.Shutdown(context.Background()) })
	r.Tracer = New(provider, r.clock)
	return r
}

// after moves the clock and returns the new time.
func (r *recorder) after(d time.Duration) time.Time {
	r.clock.SetTime(r.clock.Now().Add(d))
	return r.clock.Now()
}

// shapes returns each exported trace as a tree in text. A root is a line, and each child an indented line below it.
func (r *recorder) shapes() []string {
	spans := r.spans.GetSpans()
	slices.SortStableFunc(spans, func(a, b tracetest.SpanStub) int { return a.StartTime.Compare(b.StartTime) })
	names := make(map[trace.SpanID]string)
	for _, s := range spans {
		names[s.SpanContext.SpanID()] = s.Name
	}
	children := make(map[trace.SpanID]string)
	for i := range spans {
		if s := &spans[i]; s.Parent.IsValid() {
			children[s.Parent.SpanID()] += "\n  " + shape(s, names)
		}
	}
	var trees []string
	for i := range spans {
		if s := &spans[i]; !s.Parent.IsValid() {
			trees = append(trees, shape(s, names)+children[s.SpanContext.SpanID()])
		}
	}
	return trees
}

func shape(s *tracetest.SpanStub, names map[trace.SpanID]string) string {
	var parts []string
	for _, a := range s.Attributes {
		parts = append(parts, strings.TrimPrefix(string(a.Key), "fairlead.")+"="+a.Value.String())
	}
	slices.Sort(parts)
	text := fmt.Sprintf("%s %s", s.Name, s.EndTime.Sub(s.StartTime))
	if s.Status.Code == codes.Error {
		text += " Error"
	}
	for _, l := range s.Links {
		text += " -> " + names[l.SpanContext.SpanID()]
	}
	text += " " + strings.Join(parts, " ")
	for _, e := range s.Events {
		text += fmt.Sprintf(" [%s %s]", attributeOf(e.Attributes, keyState), attributeOf(e.Attributes, keyReason))
	}
	return text
}

func attributeOf(all []attribute.KeyValue, key attribute.Key) string {
	for _, a := range all {
		if a.Key == key {
			return a.Value.AsString()
		}
	}
	return ""
}

// The calls are in the order of the controllers: a reconcile begins, places, renders and enqueues; the queues apply; later
// reconciles find the members Healthy.
func TestATraceLeadsFromTheWrapperToHealthyOnEachMember(t *testing.T) {
	r := newRecorder(t)
	r.Begin(web, 2*time.Second)
	r.Step(web, Step{Name: SpanPlace, Began: r.clock.Now(), Revision: "fed-web-1", Counts: map[string]int{"placed": 3}})
	at := r.after(time.Second)
	r.after(time.Second)
	r.Step(web, Step{Name: SpanRender, Began: at, Revision: "fed-web-1", Counts: map[string]int{"rendered": 3}})
	for _, name := range []string{"east", "west"} { // the third member has the desired state already
		r.Changed(web, name, "fed-web-1")
		r.after(time.Second)
	}
	r.Observed(web, "east", v1alpha1.StatePushing, v1alpha1.ReasonPushing)
	east, west := r.BeginPass(web, "east", "fed-web-1"), r.BeginPass(web, "west", "fed-web-1")
	r.after(time.Second)
	east.End(PassResult{Objects: 2, Result: "done"})
	west.End(PassResult{Objects: 2, Rejected: 1, Result: "incomplete", Reason: v1alpha1.ReasonNotGranted})
	r.Observed(web, "east", v1alpha1.StateProgressing, v1alpha1.ReasonApplying)
	r.Observed(web, "east", v1alpha1.StateProgressing, v1alpha1.ReasonApplying)
	r.Observed(web, "west", v1alpha1.StateDegraded, v1alpha1.ReasonNotGranted)
	// A later reconcile of the same generation repeats the steps.
	r.Begin(web, 0)
	r.Step(web, Step{Name: SpanPlace, Began: r.clock.Now()})
	r.Observed(web, "east", v1alpha1.StateHealthy, "")
	r.after(time.Second)
	west = r.BeginPass(web, "west", "fed-web-1")
	r.after(time.Second)
	west.End(PassResult{Objects: 2, Result: "done"})
	r.Observed(web, "west", v1alpha1.StateHealthy, "")
	r.End(web, Healthy)
	want := []string{
		"federate 7s members.changed=2 outcome=Healthy revision=fed-web-1 wrapper.generation=3 wrapper.kind=Federated wrapper.name=web wrapper.uid=u write_lag_seconds=2 k8s.namespace.name=shop" +
			"\n  place 0s members.placed=3" +
			"\n  render 1s members.rendered=3",
		"member 3s -> federate attempts=1 member=east outcome=Healthy reason= revision=fed-web-1 state=Healthy wrapper.generation=3 wrapper.kind=Federated wrapper.name=web wrapper.uid=u k8s.namespace.name=shop" +
			" [Pushing Pushing] [Progressing Applying] [Healthy ]" +
			"\n  apply 1s attempt=1 objects.rejected=0 objects=2 result=done",
		"member 4s -> federate attempts=2 member=west outcome=Healthy reason= revision=fed-web-1 state=Healthy wrapper.generation=3 wrapper.kind=Federated wrapper.name=web wrapper.uid=u k8s.namespace.name=shop" +
			" [Degraded NotGranted] [Healthy ]" +
			"\n  apply 1s Error attempt=1 objects.rejected=1 objects=2 reason=NotGranted result=incomplete" +
			"\n  apply 1s attempt=2 objects.rejected=0 objects=2 result=done",
	}
	for i := range want {
		want[i] = sorted(want[i])
	}
	got := r.shapes()
	for i := range got {
		got[i] = sorted(got[i])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the exported traces (-want +got):\n%s", diff)
	}
	if len(r.open)+len(r.order)+r.members > 0 {
		t.Errorf("the table still has %d generations in %d places and %d members", len(r.open), len(r.order), r.members)
	}
}

// sorted sorts the words in each line, so that the order of attributes makes no difference.
func sorted(tree string) string {
	lines := strings.Split(tree, "\n")
	for i, line := range lines {
		words := strings.Fields(line)
		slices.Sort(words[1:])
		lines[i] = strings.Join(words, " ")
	}
	return strings.Join(lines, "\n")
}

// line returns the first exported trace whose first line contains all words; "" if there is none.
func (r *recorder) line(words ...string) string {
	for _, tree := range r.shapes() {
		first, _, _ := strings.Cut(tree, "\n")
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(first+" ", w+" ") }) {
			return tree
		}
	}
	return ""
}

// The collector can report an object as Healthy before the pass that applied it has returned.
func TestAPassThatOutlastsTheSpanOfItsMemberIsRecorded(t *testing.T) {
	r := newRecorder(t)
	r.Begin(web, 0)
	r.Changed(web, "east", "fed-web-1")
	pass := r.BeginPass(web, "east", "fed-web-1")
	r.Observed(web, "east", v1alpha1.StateHealthy, "")
	r.End(web, Healthy)
	r.after(time.Second)
	pass.End(PassResult{Objects: 2, Result: "done"})
	want := "\n  apply 1s attempt=1 objects.rejected=0 objects=2 result=done"
	if got := r.line("member", "attempts=1"); !strings.HasSuffix(got, want) {
		t.Errorf("the span of the member is %q, want it with one attempt and with%s", got, want)
	}

	r.Begin(web, 0)
	r.Changed(web, "west", "fed-web-1")
	r.BeginPass(web, "west", "fed-web-1").Drop()
	r.Observed(web, "west", v1alpha1.StateHealthy, "")
	if got := r.line("member", "member=west", "attempts=0"); got == "" {
		t.Errorf("a pass that is dropped must not count, but the traces are %q", r.shapes())
	}
}

func TestAGenerationEndsWithItsOutcome(t *testing.T) {
	later := web
	later.Generation++
	for name, test := range map[string]struct {
		end    func(*recorder)
		root   []string
		member []string
	}{
		"the author writes a newer generation": {func(r *recorder) { r.Begin(later, 0) },
			[]string{"Error", "outcome=Superseded", "wrapper.generation=3"}, []string{"Error", "outcome=Superseded", "state=Degraded"}},
		"the wrapper is deleted": {func(r *recorder) {
			r.End(v1alpha1.WrapperIdentity{Kind: web.Kind, Namespace: web.Namespace, Name: web.Name}, Deleted)
		}, []string{"outcome=Deleted"}, []string{"outcome=Deleted"}},
		"the manager stops":                         {func(r *recorder) { r.Close() }, []string{"outcome=Interrupted"}, []string{"outcome=Interrupted"}},
		"the rollout goes back":                     {func(r *recorder) { r.End(web, RolledBack) }, []string{"Error", "outcome=RolledBack"}, []string{"outcome=RolledBack"}},
		"the member is no longer placed":            {func(r *recorder) { r.End(web, Healthy) }, []string{"outcome=Healthy"}, []string{"outcome=Removed"}},
		"the member waits for a person":             {func(r *recorder) { r.Observed(web, "east", v1alpha1.StateStalled, "Refused"); r.Close() }, nil, []string{"Error", "outcome=Stalled", "reason=Refused"}},
		"the member gets yet another desired state": {func(r *recorder) { r.Changed(web, "east", "fed-web-0"); r.Close() }, nil, []string{"outcome=Superseded", "revision=fed-web-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRecorder(t)
			r.Begin(web, 0)
			r.Changed(web, "east", "fed-web-1")
			r.Observed(web, "east", v1alpha1.StateDegraded, "CrashLoopBackOff")
			test.end(r)
			if r.line(append(test.root, "federate")...) == "" && test.root != nil || r.line(append(test.member, "member")...) == "" {
				t.Errorf("want a root with %v and a member with %v:\n%s", test.root, test.member, strings.Join(r.shapes(), "\n"))
			}
			for _, s := range r.spans.GetSpans() {
				if s.Name == "federate" && (s.Status.Code == codes.Error) != slices.Contains(test.root, "Error") && test.root != nil {
					t.Errorf("the status of the root is %v", s.Status)
				}
			}
		})
	}
}

func TestAFailedStepIsRecordedEachTimeAndASuccessfulOneOnce(t *testing.T) {
	r := newRecorder(t)
	r.Begin(web, 0)
	for _, failed := range []bool{true, true, false, false, true} {
		r.Step(web, Step{Name: SpanPlace, Began: began, Failed: failed})
	}
	r.Close()
	if got := strings.Count(strings.Join(r.shapes(), "\n"), "place"); got != 3 {
		t.Errorf("%d spans of the step, want 3:\n%s", got, strings.Join(r.shapes(), "\n"))
	}
}

// A pass can begin before the member gets another desired state, and end after that. The span of the new desired state must
// not record it.
func TestAPassOfAnotherRevisionOrGenerationIsNotRecorded(t *testing.T) {
	r := newRecorder(t)
	earlier := web
	earlier.Generation--
	r.Begin(web, 0)
	r.Changed(web, "east", "fed-web-1")
	r.BeginPass(web, "east", "fed-web-0").End(PassResult{Result: "done"})
	r.BeginPass(earlier, "east", "fed-web-1").End(PassResult{Result: "done"})
	r.BeginPass(web, "north", "fed-web-1").End(PassResult{Result: "done"})
	r.Observed(earlier, "east", v1alpha1.StateHealthy, "")
	r.Close()
	if got := strings.Join(r.shapes(), "\n"); strings.Contains(got, "apply") || strings.Contains(got, "Healthy") {
		t.Error(got)
	}
}

func TestTheTableIsBounded(t *testing.T) {
	r := newRecorder(t)
	for i := range maxGenerations + 2 {
		w := web
		w.Name = fmt.Sprintf("web-%d", i)
		r.Begin(w, 0)
	}
	if got := len(r.spans.GetSpans()); len(r.open) != maxGenerations || len(r.order) != maxGenerations || got != 2 {
		t.Errorf("%d generations are open and %d have ended", len(r.open), got)
	}
	if r.line("federate", "outcome=Evicted", "wrapper.name=web-0", "Error") == "" || r.line("outcome=Evicted", "wrapper.name=web-1") == "" {
		t.Error("the oldest generations must have ended")
	}
	last := web
	last.Name = fmt.Sprintf("web-%d", maxGenerations+1)
	for i := range maxMembers + 1 {
		r.Changed(last, fmt.Sprintf("m-%d", i), "fed-web-1")
	}
	if r.members != maxMembers {
		t.Errorf("%d spans of members are open", r.members)
	}
	r.End(last, Superseded)
	if r.members != 0 || r.line("federate", "wrapper.name="+last.Name, "members.untraced=1", fmt.Sprintf("members.changed=%d", maxMembers)) == "" {
		t.Errorf("%d spans of members are open after the end", r.members)
	}
}

func TestTheSpansOfPassesAreBounded(t *testing.T) {
	r := newRecorder(t)
	r.Begin(web, 0)
	r.Changed(web, "east", "fed-web-1")
	for range maxApplies + 5 {
		r.BeginPass(web, "east", "fed-web-1").End(PassResult{Result: "error", Reason: v1alpha1.ReasonPushError})
	}
	r.Close()
	got := r.line("member", fmt.Sprintf("attempts=%d", maxApplies+5))
	if strings.Count(got, "apply") != maxApplies {
		t.Error(got)
	}
}

// A wrapper that a sampler leaves out stays left out through all its reconciles, and so do its members.
func TestAGenerationThatIsNotSampledHasNoSpans(t *testing.T) {
	r := newRecorder(t, sdk.WithSampler(sdk.NeverSample()))
	r.Begin(web, 0)
	r.Step(web, Step{Name: SpanPlace, Began: began})
	r.Changed(web, "east", "fed-web-1")
	if r.Follows(web) || r.IsOpen(web, "east") || len(r.open) != 1 {
		t.Error("the Tracer records a generation that the sampler left out, or forgot the decision")
	}
	r.Close()
	if got := r.shapes(); len(got) > 0 {
		t.Error(got)
	}
}

// Without tracing, the controllers and the queues make the same calls on a nil Tracer.
func TestTracingThatIsOffAllocatesNothing(t *testing.T) {
	var off *Tracer
	if got := testing.AllocsPerRun(100, func() {
		off.Begin(web, time.Second)
		off.Step(web, Step{Name: SpanPlace, Began: began})
		off.Changed(web, "east", "fed-web-1")
		off.BeginPass(web, "east", "fed-web-1").End(PassResult{Objects: 2, Result: "done", Reason: v1alpha1.ReasonPushError})
		if off.Follows(web) || off.IsOpen(web, "east") {
			off.Observed(web, "east", v1alpha1.StateHealthy, "")
		}
		off.Observed(web, "east", v1alpha1.StateHealthy, "")
		off.End(web, Healthy)
		off.Close()
	}); got != 0 {
		t.Errorf("%v allocations", got)
	}
}

// linesAndWords returns the lines of the corpus of secrets, and all words in them.
func linesAndWords(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, line := range secretcorpus.Lines(t) {
		all = append(all, line)
		all = append(all, strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \"'=:;,/@<>[]{}()&?\\", r) })...)
	}
	if len(all) < 300 {
		t.Fatalf("the corpus has only %d texts", len(all))
	}
	return all
}

// A member can put any text into the reason of an object. Its API server can also put any text into a refusal, and so into the
// reason of a pass.
func TestNoSecretGetsIntoATrace(t *testing.T) {
	r := newRecorder(t)
	r.Begin(web, 0)
	for i, text := range linesAndWords(t) {
		name := fmt.Sprintf("m-%d", i)
		r.Changed(web, name, "fed-web-1")
		r.BeginPass(web, name, "fed-web-1").End(PassResult{Result: "error", Reason: text})
		r.Observed(web, name, v1alpha1.StateDegraded, text)
	}
	r.Close()
	spans := r.spans.GetSpans()
	for _, s := range spans {
		if all := fmt.Sprintf("%+v", s); strings.Contains(all, "CANARY") {
			t.Fatal(all)
		}
	}
	if r.line("member", "reason=Other") == "" || len(spans) < 600 {
		t.Errorf("%d spans; each reason must be replaced, not dropped", len(spans))
	}
}

func TestKnownReasonsAreKept(t *testing.T) {
	for _, reason := range []string{"", v1alpha1.ReasonNotGranted, v1alpha1.ReasonOverrideTooCostly, v1alpha1.ReasonUnreachable, v1alpha1.ReasonPushError,
		"CrashLoopBackOff", "OOMKilled", "ProgressDeadlineExceeded", "CatalogSourcesUnhealthy", "LessReplicas"} {
		if got := reasonOf(reason); got != reason {
			t.Errorf("%s became %s", reason, got)
		}
	}
	for _, text := range []string{"no route to host", "CrashLoopBackOff: key", "Hunter", "AKIA2BYV7SCANARY6EHO"} {
		if got := reasonOf(text); got != otherReason {
			t.Errorf("%s became %s", text, got)
		}
	}
}
