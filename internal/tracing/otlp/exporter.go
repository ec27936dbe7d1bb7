// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/federate/redact"
	"github.com/fairlead-dev/fairlead/internal/tracing"
)

// errorInterval is the shortest time between two lines in the log about spans that could not be exported.
const errorInterval = time.Minute

// Exporter exports the spans of a Tracer. A nil *Exporter is valid: it has a nil Tracer, so tracing is off.
type Exporter struct {
	tracer   *tracing.Tracer
	provider *sdk.TracerProvider
}

// FromEnvironment makes an exporter as the environment variables say. It returns nil if they leave tracing off. The
// error names each variable that is wrong. version is the version of the manager.
func FromEnvironment(ctx context.Context, version string, clk clock.PassiveClock, log logr.Logger) (*Exporter, error) {
	on, err := isOn()
	if err != nil || !on {
		return nil, err
	}
	chosen, err := sampler()
	if err := errors.Join(check(), err); err != nil {
		return nil, err
	}
	about, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", "fairlead-manager"), attribute.String("service.version", version)),
		resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, wrong("OTEL_RESOURCE_ATTRIBUTES", "OpenTelemetry cannot read it")
	}
	// The SDK logs its own state by this logger, and errors by the handler. By default it would write both to the
	// standard error output.
	otel.SetLogger(logr.Discard())
	otel.SetErrorHandler(&errorLog{clock: clk, log: log})
	client, err := otlptracehttp.New(ctx) // it sends nothing yet
	if err != nil {
		return nil, fmt.Errorf("making the exporter of traces from the environment variables %s*: %w", prefix, err)
	}
	provider := sdk.NewTracerProvider(sdk.WithBatcher(client), sdk.WithResource(about), sdk.WithSampler(chosen))
	log.Info("traces are exported by OTLP")
	return &Exporter{tracer: tracing.New(provider, clk), provider: provider}, nil
}

// Tracer returns the Tracer whose spans are exported; nil if tracing is off.
func (e *Exporter) Tracer() *tracing.Tracer {
	if e == nil {
		return nil
	}
	return e.tracer
}

// Shutdown ends all open spans, and exports what is in the queue until ctx ends.
func (e *Exporter) Shutdown(ctx context.Context) error {
	if e == nil {
		return nil
	}
	e.tracer.Close()
	if err := e.provider.Shutdown(ctx); err != nil {
		return fmt.Errorf("exporting the last traces: %w", err)
	}
	return nil
}

// errorLog logs errors of the SDK, at most one in errorInterval.
type errorLog struct {
	clock clock.PassiveClock
	log   logr.Logger

	mu sync.Mutex
	// last is the time of the last line in the log. left is the number of errors since then, which are not in the log.
	last time.Time
	left int
}

// Handle implements otel.ErrorHandler. It redacts the error, because it may have the answer of the backend.
func (l *errorLog) Handle(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	if !l.last.IsZero() && now.Sub(l.last) < errorInterval {
		l.left++
		return
	}
	l.log.Info("traces could not be exported; their spans are lost", "error", redact.Text(err.Error()), "furtherErrors", l.left)
	l.last, l.left = now, 0
}
