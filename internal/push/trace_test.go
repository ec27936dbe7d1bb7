// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/member"
	"github.com/fairlead-dev/fairlead/internal/push/apply"
	"github.com/fairlead-dev/fairlead/internal/push/plan"
	"github.com/fairlead-dev/fairlead/internal/testing/secretcorpus"
	"github.com/fairlead-dev/fairlead/internal/tracing"
)

// tracer returns a tracer that keeps its spans in memory.
func tracer(clk clock.PassiveClock) (*tracing.Tracer, *tracetest.InMemoryExporter) {
	spans := tracetest.NewInMemoryExporter()
	return tracing.New(sdk.NewTracerProvider(sdk.WithSyncer(spans)), clk), spans
}

// applies returns the spans of passes, each as its status and attributes.
func applies(spans *tracetest.InMemoryExporter) []string {
	var all []string
	for _, s := range spans.GetSpans() {
		if s.Name != "apply" {
			continue
		}
		text := ""
		if s.Status.Code == codes.Error {
			text = "Error "
		}
		for _, a := range s.Attributes {
			text += strings.TrimPrefix(string(a.Key), "fairlead.") + "=" + a.Value.String() + " "
		}
		all = append(all, strings.TrimSpace(text))
	}
	return all
}

func TestAPassIsTracedBelowItsMember(t *testing.T) {
	s := newSite(t)
	p := s.engage()
	var spans *tracetest.InMemoryExporter
	p.host.Tracer, spans = tracer(clock.RealClock{})
	p.host.Tracer.Begin(s.wrapper, 0)
	p.SetDesired("east", s.want(configMap("a", "1"), configMap("b", "1")))
	p.probed("east", member.ProbeResult{}, usable)
	s.await("the pair is served, and its pass is traced", func(context.Context) bool {
		return p.Pair(KeyOf(s.wrapper), "east").Holds && len(applies(spans)) > 0
	})
	if diff := cmp.Diff([]string{"attempt=1 objects=2 objects.rejected=0 result=done"}, applies(spans)); diff != "" {
		t.Errorf("spans of passes (-want +got):\n%s", diff)
	}
	p.SetDesired("east", s.leave())
	s.await("the wrapper has left", func(context.Context) bool { return p.Result(KeyOf(s.wrapper), "east").HasLeft() })
	if got := applies(spans); len(got) != 1 {
		t.Errorf("leaving is not traced, but the spans are: %v", got)
	}
}

func TestTheSpanOfAPassHasItsResultAndNoMessage(t *testing.T) {
	corpus := strings.Join(secretcorpus.Lines(t), "\n")
	b := newBench(t)
	desired := wish("d")
	var spans *tracetest.InMemoryExporter
	b.pusher.host.Tracer, spans = tracer(b.clock)
	b.pusher.host.Tracer.Begin(webID, 0)
	b.pusher.SetDesired("east", desired)
	endTrace(beginTrace(b.pusher.host.Tracer, b.conn.Name(), desired), plan.Outcome{}, fmt.Errorf("the member says: %s", corpus), apply.Counts{})
	endTrace(beginTrace(b.pusher.host.Tracer, b.conn.Name(), desired), plan.Outcome{State: v1alpha1.StateStalled, Reason: v1alpha1.ReasonNotGranted, Message: corpus, Kept: []plan.Kept{{Object: corpus, Why: corpus}}}, nil,
		apply.Counts{Objects: 5, Rejected: map[string]int{v1alpha1.ReasonNotGranted: 2, v1alpha1.ReasonInvalid: 1}})
	endTrace(beginTrace(b.pusher.host.Tracer, b.conn.Name(), desired), plan.Outcome{Done: true}, nil, apply.Counts{Objects: 5})
	b.pusher.host.Tracer.Close()
	want := []string{
		"Error attempt=1 objects=0 objects.rejected=0 result=error reason=PushError",
		"Error attempt=2 objects=5 objects.rejected=3 result=incomplete reason=NotGranted",
		"attempt=3 objects=5 objects.rejected=0 result=done",
	}
	if diff := cmp.Diff(want, applies(spans)); diff != "" {
		t.Errorf("spans of passes (-want +got):\n%s", diff)
	}
	for _, s := range spans.GetSpans() {
		if text := fmt.Sprintf("%+v", s); strings.Contains(text, "CANARY") {
			t.Error(text)
		}
	}
}

// The queue of a member makes these calls for each desired state and each pass, and most managers do not trace.
func TestAPassWithoutTracingAllocatesNothingForIt(t *testing.T) {
	b := newBench(t)
	desired := wish("d")
	counts := apply.Counts{Objects: 5, Rejected: map[string]int{v1alpha1.ReasonNotGranted: 2}}
	if got := testing.AllocsPerRun(100, func() {
		b.pusher.host.Tracer.Changed(desired.Wrapper, "east", desired.Revision)
		endTrace(beginTrace(b.pusher.host.Tracer, b.conn.Name(), desired), plan.Outcome{}, nil, counts)
	}); got != 0 {
		t.Errorf("%v allocations", got)
	}
}
