// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"strconv"
	"strings"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

const (
	samplerName = "OTEL_TRACES_SAMPLER"
	samplerArg  = "OTEL_TRACES_SAMPLER_ARG"
)

// sampler returns the sampler that the variables ask for; without them, one that samples every trace.
func sampler() (sdk.Sampler, error) {
	ratio := 1.0
	if given := value(samplerArg); given != "" {
		parsed, err := strconv.ParseFloat(given, 64)
		if err != nil || !(parsed >= 0 && parsed <= 1) {
			return nil, wrong(samplerArg, "give a share from 0 to 1, for example 0.1")
		}
		ratio = parsed
	}
	name := strings.ToLower(value(samplerName))
	var chosen sdk.Sampler
	switch strings.TrimPrefix(name, "parentbased_") { // no span of the manager has a parent in another process
	case "", "always_on":
		chosen = sdk.AlwaysSample()
	case "always_off":
		chosen = sdk.NeverSample()
	case "traceidratio":
		chosen = sdk.TraceIDRatioBased(ratio)
	default:
		return nil, wrong(samplerName, "give always_on, always_off or traceidratio, or one of these after parentbased_")
	}
	return linked{sdk.ParentBased(chosen)}, nil
}

// linked is a sampler. For a root span with a link it decides as for the linked span, and for every other span as the
// embedded Sampler. So the trace of a member is sampled if, and only if, the trace of its wrapper is. With a ratio alone,
// the two decisions would be independent.
type linked struct{ sdk.Sampler }

// ShouldSample implements sdk.Sampler.
func (s linked) ShouldSample(p sdk.SamplingParameters) sdk.SamplingResult {
	if trace.SpanContextFromContext(p.ParentContext).IsValid() || len(p.Links) == 0 {
		return s.Sampler.ShouldSample(p)
	}
	if p.Links[0].SpanContext.IsSampled() {
		return sdk.SamplingResult{Decision: sdk.RecordAndSample}
	}
	return sdk.SamplingResult{Decision: sdk.Drop}
}

// Description implements sdk.Sampler.
func (s linked) Description() string { return "Linked{" + s.Sampler.Description() + "}" }
