// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/controllers"
	"github.com/fairlead-dev/fairlead/internal/tracing"
)

// The other tests of tracing run one controller or the pusher alone. This one runs the whole manager.
func TestTheManagerTracesAWrapperUntilItIsHealthyOnEachMember(t *testing.T) {
	f := newFleet(t, v1alpha1.CollectorHost)
	exporter := tracetest.NewInMemoryExporter()
	provider := sdk.NewTracerProvider(sdk.WithSyncer(exporter))
	t.Cleanup(func() { _ = provider.Shutdown(context.Background()) })
	l := born(t, managerWith(controllers.Options{Clock: clock.RealClock{}, Tracer: tracing.New(provider, clock.RealClock{})}), f.manager, end{})
	defer l.kill()
	a := f.newAuthor(t)
	a.write(first)
	a.rest([]*desiredState{first})
	want := []string{
		"federate Healthy",
		"federate/place",
		"federate/render",
		"member -> federate Healthy",
		"member -> federate Healthy",
		"member/apply done",
		"member/apply done",
	}
	a.eventually(t, "the traces of the wrapper", func(context.Context) string {
		return cmp.Diff(want, linesOf(exporter.GetSpans(), a.shop))
	})
}

// linesOf returns a sorted line for each span of the wrappers in a namespace: the names of its parent and its own, the name of the span that
// it links to, and its outcome or result.
func linesOf(spans tracetest.SpanStubs, namespace string) (lines []string) {
	names, ours := make(map[trace.SpanID]string), make(map[trace.SpanID]bool)
	for i := range spans {
		id := spans[i].SpanContext.SpanID()
		names[id], ours[id] = spans[i].Name, textOf(&spans[i], "k8s.namespace.name") == namespace
	}
	for i := range spans {
		s := &spans[i]
		if !ours[s.SpanContext.SpanID()] && !ours[s.Parent.SpanID()] {
			continue
		}
		line := s.Name
		if s.Parent.IsValid() {
			line = names[s.Parent.SpanID()] + "/" + line
		}
		for _, link := range s.Links {
			line += " -> " + names[link.SpanContext.SpanID()]
		}
		lines = append(lines, strings.TrimSpace(line+" "+textOf(s, "fairlead.outcome")+textOf(s, "fairlead.result")))
	}
	slices.Sort(lines)
	return lines
}

// textOf returns an attribute of a span as text; "" if the span has none of this name.
func textOf(s *tracetest.SpanStub, key attribute.Key) string {
	for _, a := range s.Attributes {
		if a.Key == key {
			return a.Value.String()
		}
	}
	return ""
}
