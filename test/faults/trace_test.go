// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/controllers"
	"github.com/fairlead-dev/fairlead/internal/tracing"
)

// The other tests of tracing call the tracer as the controllers do. Here the manager itself traces what it does for a wrapper.
func TestTheManagerTracesAWrapperUntilItIsHealthyOnEachMember(t *testing.T) {
	f := newFleet(t, v1alpha1.CollectorHost)
	spans := tracetest.NewInMemoryExporter()
	provider := sdk.NewTracerProvider(sdk.WithSyncer(spans))
	t.Cleanup(func() { _ = provider.Shutdown(context.Background()) })
	tracer := tracing.New(provider, clock.RealClock{})
	l := born(t, managerWith(controllers.Options{Clock: clock.RealClock{}, Tracer: tracer}), f.manager, end{})
	defer l.kill()
	a := f.newAuthor(t)
	a.write(first)
	a.rest([]*desiredState{first})

	var federate tracetest.SpanStub
	a.eventually(t, "the span of the wrapper has ended", func(context.Context) string {
		for _, s := range spans.GetSpans() {
			if s.Name == "federate" && isAbout(&s, a.wrapper().GetNamespace()) {
				federate = s
				return ""
			}
		}
		return "there is no span federate yet"
	})
	if got := textOf(&federate, "fairlead.outcome"); got != string(tracing.Healthy) {
		t.Errorf("the span of the wrapper has outcome %q", got)
	}
	var steps, healthy []string
	for _, s := range spans.GetSpans() {
		switch {
		case s.Parent.SpanID() == federate.SpanContext.SpanID():
			steps = append(steps, s.Name)
		case s.Name == "member" && isAbout(&s, a.wrapper().GetNamespace()):
			if len(s.Links) != 1 || s.Links[0].SpanContext.SpanID() != federate.SpanContext.SpanID() {
				t.Errorf("the span of member %s has links %v, want one to the span of the wrapper", textOf(&s, "fairlead.member"), s.Links)
			}
			if textOf(&s, "fairlead.outcome") == string(tracing.Healthy) && applies(spans.GetSpans(), &s) == 1 {
				healthy = append(healthy, textOf(&s, "fairlead.member"))
			}
		}
	}
	slices.Sort(steps)
	slices.Sort(healthy)
	if got := strings.Join(steps, " "); got != tracing.SpanPlace+" "+tracing.SpanRender {
		t.Errorf("below the span of the wrapper are %q", got)
	}
	if !slices.Equal(healthy, members) {
		t.Errorf("the members %v have a span with one apply that ended Healthy, want %v", healthy, members)
	}
}

// isAbout reports whether a span is about a wrapper in this namespace.
func isAbout(s *tracetest.SpanStub, namespace string) bool {
	return textOf(s, "k8s.namespace.name") == namespace
}

// textOf returns an attribute of a span as text; "" if it has none of this name.
func textOf(s *tracetest.SpanStub, key attribute.Key) string {
	for _, a := range s.Attributes {
		if a.Key == key {
			return a.Value.String()
		}
	}
	return ""
}

// applies returns how many spans apply a span of a member has.
func applies(all tracetest.SpanStubs, member *tracetest.SpanStub) (n int) {
	for _, s := range all {
		if s.Name == "apply" && s.Parent.SpanID() == member.SpanContext.SpanID() {
			n++
		}
	}
	return n
}
