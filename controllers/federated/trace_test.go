// SPDX-License-Identifier: Apache-2.0

package federated

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/report"
	"github.com/fairlead-dev/fairlead/internal/push"
	"github.com/fairlead-dev/fairlead/internal/testing/secretcorpus"
	"github.com/fairlead-dev/fairlead/internal/tracing"
)

// tracedLoop gives the loop, and its pusher, a tracer that keeps its spans in memory.
func tracedLoop(t *testing.T, r *Reconciler) *tracetest.InMemoryExporter {
	t.Helper()
	spans := tracetest.NewInMemoryExporter()
	r.tracer = tracing.New(sdk.NewTracerProvider(sdk.WithSyncer(spans)), r.clock)
	r.pusher = push.New(r.fleet, r.deliveries, r.clock.(clock.WithTicker), push.Host{Tracer: r.tracer}, func(push.Key) {}) //nolint:forcetypeassert // tests have a fake clock
	return spans
}

// spanNames returns each span with its outcome. A child is shown as PARENT/CHILD, and a link as ->.
func spanNames(spans tracetest.SpanStubs) []string {
	known := make(map[string]string)
	for _, s := range spans {
		known[s.SpanContext.SpanID().String()] = s.Name
	}
	var all []string
	for _, s := range spans {
		text := s.Name
		if s.Parent.IsValid() {
			text = known[s.Parent.SpanID().String()] + "/" + text
		}
		for _, l := range s.Links {
			text += " -> " + known[l.SpanContext.SpanID().String()]
		}
		for _, a := range s.Attributes {
			if a.Key == "fairlead.outcome" {
				text += " " + a.Value.AsString()
			}
		}
		all = append(all, text)
	}
	slices.Sort(all)
	return all
}

func TestAReconcileOfANewGenerationIsTraced(t *testing.T) {
	w := rendered("u", object, 1)
	w.ResourceVersion = ""
	r, c := host(t, nil, w, east())
	r.history = testKey(t, 1)
	spans := tracedLoop(t, r)
	reconcile := func() {
		t.Helper()
		if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: web.NamespacedName}); err != nil {
			t.Fatal(err)
		}
	}
	reconcile()
	reconcile() // repeats the steps, and adds nothing
	got := &v1alpha1.Federated{}
	if err := c.Get(t.Context(), web.NamespacedName, got); err != nil {
		t.Fatal(err)
	}
	if !r.tracer.IsOpen(v1alpha1.Identity(got), "east") {
		t.Error("the member got its first desired state, and has no open span")
	}
	if err := c.Delete(t.Context(), got); err != nil {
		t.Fatal(err)
	}
	reconcile()
	want := []string{"federate Deleted", "federate/place", "federate/render", "member -> federate Deleted"}
	if diff := cmp.Diff(want, spanNames(spans.GetSpans())); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
}

// After a restart, all wrappers are reconciled. A generation that the status has observed begins no trace.
func TestAGenerationThatTheStatusHasObservedIsNotTraced(t *testing.T) {
	w := rendered("u", object, 1)
	w.ResourceVersion, w.Status.ObservedGeneration = "", w.Generation
	r, _ := host(t, nil, w, east())
	r.history = testKey(t, 1)
	spans := tracedLoop(t, r)
	if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: web.NamespacedName}); err != nil {
		t.Fatal(err)
	}
	r.tracer.Close()
	if got := spanNames(spans.GetSpans()); len(got) > 0 {
		t.Errorf("spans: %v", got)
	}
}

func TestATraceEndsWhenTheStoredStatusSaysSo(t *testing.T) {
	for name, test := range map[string]struct {
		status  func(*v1alpha1.WrapperStatus)
		invalid bool
		want    tracing.Outcome
	}{
		"all members are healthy":     {func(*v1alpha1.WrapperStatus) {}, false, tracing.Healthy},
		"a member is not healthy":     {func(s *v1alpha1.WrapperStatus) { s.Counts.Healthy = ptr.To(int32(2)) }, false, ""},
		"a member waits for its wave": {func(s *v1alpha1.WrapperStatus) { s.Counts.Updated = ptr.To(int32(2)) }, false, ""},
		"no member is placed":         {func(s *v1alpha1.WrapperStatus) { s.Counts = v1alpha1.ClusterCounts{Placed: ptr.To(int32(0))} }, false, tracing.NotPlaced},
		"there are no counts yet":     {func(s *v1alpha1.WrapperStatus) { s.Counts = v1alpha1.ClusterCounts{} }, false, ""},
		"the spec is invalid":         {func(*v1alpha1.WrapperStatus) {}, true, tracing.Invalid},
		"the rollout goes back": {func(s *v1alpha1.WrapperStatus) {
			s.Rollout.State = v1alpha1.RolloutRollingBack
			s.Counts.Updated = ptr.To(int32(1))
		}, false, ""},
		"the rollout has gone back": {func(s *v1alpha1.WrapperStatus) { s.Rollout.State = v1alpha1.RolloutRolledBack }, false, tracing.RolledBack},
		"the rollout waits for a person": {func(s *v1alpha1.WrapperStatus) {
			s.Rollout.State = v1alpha1.RolloutPaused
			s.Counts.Healthy = ptr.To(int32(1))
		}, false, ""},
		"the status has no healthy member": {func(s *v1alpha1.WrapperStatus) { s.Counts.Healthy = nil }, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			status := &v1alpha1.WrapperStatus{Counts: v1alpha1.ClusterCounts{Placed: ptr.To(int32(3)), Updated: ptr.To(int32(3)), Healthy: ptr.To(int32(3))}}
			test.status(status)
			if got := outcomeOf(status, test.invalid); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// The API server refuses the status at first. If the trace ended there, the next reconcile would begin a second one.
func TestATraceStaysOpenUntilTheStatusIsStored(t *testing.T) {
	w := rendered("u", `{"apiVersion":"v1"}`, 1) // the manager can render nothing from this object
	w.ResourceVersion = ""
	refusal := errors.New("no")
	r, _ := host(t, func() error { return refusal }, w, east())
	r.history = testKey(t, 1)
	spans := tracedLoop(t, r)
	if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: web.NamespacedName}); err != nil {
		t.Fatal(err) // the manager waits for statusInterval before it writes a status that is not final
	}
	r.clock = clocktesting.NewFakeClock(now.Add(statusInterval))
	for range 2 {
		if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: web.NamespacedName}); err == nil {
			t.Fatal("the write of the status was not refused")
		}
	}
	refusal = nil
	if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: web.NamespacedName}); err != nil {
		t.Fatal(err)
	}
	var roots []string
	for _, name := range spanNames(spans.GetSpans()) {
		if strings.HasPrefix(name, "federate ") {
			roots = append(roots, name)
		}
	}
	if diff := cmp.Diff([]string{"federate Invalid"}, roots); diff != "" {
		t.Errorf("roots (-want +got):\n%s", diff)
	}
}

// Secrets are in the objects of the author, in the refusals of members, and in what collectors report.
func TestNoSecretOfAnAuthorOrAMemberGetsIntoATrace(t *testing.T) {
	lines := secretcorpus.Lines(t)
	corpus := strings.Join(lines, "\n")
	w := rendered("u", object, 1)
	w.ResourceVersion = ""
	w.Spec.Objects = []runtime.RawExtension{{Raw: fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"},"stringData":{"key":%q}}`, "CANARY")}}
	r, c := host(t, nil, w, east())
	r.history = testKey(t, 1)
	spans := tracedLoop(t, r)
	if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: web.NamespacedName}); err != nil {
		t.Fatal(err)
	}
	got := &v1alpha1.Federated{}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(w), got); err != nil {
		t.Fatal(err)
	}
	p := at(r, got, now, "east")
	for _, text := range lines {
		status := &v1alpha1.DeliveryStatus{Version: text, Objects: []v1alpha1.ObjectStatus{{Kind: text, Name: text, Health: v1alpha1.Degraded, Reason: text, Message: text}}}
		generationTrace{r.tracer, p.wrapper, p.now}.observed(&report.Input{Members: []report.Member{{Name: "east", Held: true, HeldRevision: text, Status: status, Reachability: report.Reachability{Known: true, Usable: true}},
			{Name: "west", Push: report.Push{State: v1alpha1.StateDegraded, Reason: v1alpha1.ReasonRefused, Message: text}}}})
	}
	_ = p.traced(tracing.SpanRender, func(context.Context) error { p.invalid = corpus; return errors.New(corpus) })(t.Context())
	r.tracer.Close()
	all := spans.GetSpans()
	for _, s := range all {
		if text := fmt.Sprintf("%+v", s); strings.Contains(text, "CANARY") {
			t.Error(text)
		}
	}
	if !slices.ContainsFunc(all, func(s tracetest.SpanStub) bool { return s.Name == "member" && len(s.Events) > 0 }) {
		t.Error("no state of the member is in the trace, so this test has shown nothing")
	}
}

// Most managers do not trace, and every reconcile makes these calls.
func TestAReconcileWithoutTracingAllocatesNothingForIt(t *testing.T) {
	r, _ := host(t, nil)
	p := at(r, rendered("u", object, 1), now, "east")
	step := func(context.Context) error { return nil }
	snapshot := &report.Input{Members: []report.Member{{Name: "east"}}}
	if got := testing.AllocsPerRun(100, func() {
		trace := generationTrace{p.tracer, p.wrapper, p.now}
		trace.begin()
		_ = p.traced(tracing.SpanPlace, step)
		trace.observed(snapshot)
		trace.published(p.wrapper.WrapperStatus(), false)
	}); got != 0 {
		t.Errorf("%v allocations", got)
	}
}
