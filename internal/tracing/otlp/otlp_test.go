// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"go.opentelemetry.io/otel"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/tracing"
)

var web = v1alpha1.WrapperIdentity{Kind: v1alpha1.KindFederated, Namespace: "shop", Name: "web", UID: "u", Generation: 3}

// set sets these variables, each given as NAME=VALUE, and unsets every other variable of OpenTelemetry.
func set(t *testing.T, variables ...string) {
	t.Helper()
	for _, one := range os.Environ() {
		if name, _, _ := strings.Cut(one, "="); strings.HasPrefix(name, "OTEL_") {
			t.Setenv(name, "")
			if err := os.Unsetenv(name); err != nil { // t.Setenv puts it back
				t.Fatal(err)
			}
		}
	}
	for _, one := range variables {
		name, content, _ := strings.Cut(one, "=")
		t.Setenv(name, content)
	}
}

func fromEnvironment(t *testing.T, log logr.Logger) (*Exporter, error) {
	t.Helper()
	return FromEnvironment(t.Context(), "v1.2.3", clock.RealClock{}, log)
}

func TestTracingIsOffUnlessAVariableGivesAnEndpoint(t *testing.T) {
	const endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318"
	for name, test := range map[string]struct {
		variables []string
		want      bool
	}{
		"no variable":                     {nil, false},
		"an endpoint":                     {[]string{endpoint}, true},
		"an endpoint for traces":          {[]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=https://127.0.0.1/v1/traces"}, true},
		"only an exporter":                {[]string{"OTEL_TRACES_EXPORTER=otlp"}, false},
		"the exporter none":               {[]string{endpoint, "OTEL_TRACES_EXPORTER=none"}, false},
		"the SDK is disabled":             {[]string{endpoint, "OTEL_SDK_DISABLED=TRUE"}, false},
		"the SDK is not disabled":         {[]string{endpoint, "OTEL_SDK_DISABLED=false", "OTEL_TRACES_EXPORTER=otlp"}, true},
		"a wrong value that is not used":  {[]string{"OTEL_EXPORTER_OTLP_TIMEOUT=soon"}, false},
		"all variables that are checked":  {[]string{endpoint, "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf", "OTEL_EXPORTER_OTLP_HEADERS=a=b,c=d%3D", "OTEL_EXPORTER_OTLP_TIMEOUT=5000", "OTEL_EXPORTER_OTLP_COMPRESSION=gzip", "OTEL_EXPORTER_OTLP_INSECURE=true", "OTEL_BSP_MAX_QUEUE_SIZE=512", "OTEL_TRACES_SAMPLER=parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG=0.1", "OTEL_RESOURCE_ATTRIBUTES=deployment.environment=prod", "OTEL_SERVICE_NAME=fed"}, true},
		"a variable with space around it": {[]string{"OTEL_EXPORTER_OTLP_ENDPOINT= http://127.0.0.1:4318 "}, true},
	} {
		t.Run(name, func(t *testing.T) {
			set(t, test.variables...)
			e, err := fromEnvironment(t, logr.Discard())
			if err != nil || (e.Tracer() != nil) != test.want {
				t.Errorf("on: %v, %v", e.Tracer() != nil, err)
			}
			if err := e.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// secret stands for a credential in the value of a variable. Errors and lines of the log must not contain it.
const secret = "hunter2CANARY"

func TestAWrongValueIsReportedWithItsVariableAndTheRemedy(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		variable string
		remedy   string
	}{
		"no URL":                           {"OTEL_EXPORTER_OTLP_ENDPOINT=collector:4318", "http://collector"},
		"a URL of another scheme":          {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=grpc://" + secret, "http://collector"},
		"a URL that cannot be parsed":      {"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + secret + "\x7f", "http://collector"},
		"a password in the URL":            {"OTEL_EXPORTER_OTLP_ENDPOINT=https://me:" + secret + "@collector", "OTEL_EXPORTER_OTLP_HEADERS"},
		"gRPC":                             {"OTEL_EXPORTER_OTLP_PROTOCOL=grpc", "set OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf"},
		"gRPC for traces":                  {"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=grpc", "http/protobuf"},
		"JSON":                             {"OTEL_EXPORTER_OTLP_PROTOCOL=http/json", "http/protobuf"},
		"headers that are no pairs":        {"OTEL_EXPORTER_OTLP_HEADERS=" + secret, "a=b,c=d"},
		"headers with a wrong escape":      {"OTEL_EXPORTER_OTLP_TRACES_HEADERS=key=" + secret + "%zz", "%25"},
		"a time with a unit":               {"OTEL_EXPORTER_OTLP_TIMEOUT=5s", "milliseconds"},
		"a time of nothing":                {"OTEL_EXPORTER_OTLP_TIMEOUT=0", "at least 1"},
		"an unknown compression":           {"OTEL_EXPORTER_OTLP_COMPRESSION=zstd", "gzip or none"},
		"no bool":                          {"OTEL_EXPORTER_OTLP_INSECURE=yes", "true or false"},
		"a CA that is not there":           {"OTEL_EXPORTER_OTLP_CERTIFICATE=/no/such/file", "can read"},
		"a CA without a certificate":       {"OTEL_EXPORTER_OTLP_CERTIFICATE=" + empty, "PEM"},
		"a certificate without a key":      {"OTEL_EXPORTER_OTLP_CLIENT_KEY=" + empty, "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE"},
		"a queue of no size":               {"OTEL_BSP_MAX_QUEUE_SIZE=many", "whole number"},
		"an unknown sampler":               {"OTEL_TRACES_SAMPLER=jaeger_remote", "traceidratio"},
		"a share of more than all":         {"OTEL_TRACES_SAMPLER_ARG=10", "from 0 to 1"},
		"a share that is no number":        {"OTEL_TRACES_SAMPLER_ARG=NaN", "from 0 to 1"},
		"resource attributes without name": {"OTEL_RESOURCE_ATTRIBUTES=prod", "a=b,c=d"},
		"another exporter":                 {"OTEL_TRACES_EXPORTER=jaeger", "otlp or none"},
		"disabled perhaps":                 {"OTEL_SDK_DISABLED=perhaps", "true or false"},
	} {
		t.Run(name, func(t *testing.T) {
			set(t, "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318", test.variable)
			variable, _, _ := strings.Cut(test.variable, "=")
			_, err := fromEnvironment(t, logr.Discard())
			if err == nil || !strings.Contains(err.Error(), variable) || !strings.Contains(err.Error(), test.remedy) || strings.Contains(err.Error(), secret) {
				t.Errorf("got: %v\nwant %s and %q in it, and not its value", err, variable, test.remedy)
			}
		})
	}
}

func TestAllWrongValuesAreReportedTogether(t *testing.T) {
	set(t, "OTEL_EXPORTER_OTLP_ENDPOINT=collector:4317", "OTEL_EXPORTER_OTLP_PROTOCOL=grpc", "OTEL_TRACES_SAMPLER=some")
	_, err := fromEnvironment(t, logr.Discard())
	for _, name := range []string{"ENDPOINT", "PROTOCOL", "SAMPLER"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s is not in: %v", name, err)
		}
	}
}

func TestSpansAreSentToTheEndpoint(t *testing.T) {
	got := make(chan *http.Request, 1)
	var body []byte
	backend := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ = io.ReadAll(r.Body)
		got <- r
	}))
	defer backend.Close()
	set(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+backend.URL, "OTEL_EXPORTER_OTLP_HEADERS=x-key=k", "OTEL_RESOURCE_ATTRIBUTES=env=prod")
	e, err := fromEnvironment(t, logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	e.Tracer().Begin(web, 0)
	if err := e.Shutdown(t.Context()); err != nil { // ends the open span
		t.Fatal(err)
	}
	if len(got) == 0 {
		t.Fatal("nothing was sent")
	}
	r := <-got
	if r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf" || r.Header.Get("X-Key") != "k" {
		t.Errorf("%s with %v", r.URL.Path, r.Header)
	}
	for _, want := range []string{"federate", "Interrupted", "fairlead-manager", "v1.2.3", "prod"} {
		if !strings.Contains(string(body), want) {
			t.Errorf("%s is not in what was sent: %q", want, body)
		}
	}
}

// The backend never answers. Neither the calls of the controllers nor the end of the manager may wait for it.
func TestABackendThatHangsHoldsNothingUp(t *testing.T) {
	called, release := make(chan struct{}, 64), make(chan struct{})
	backend := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called <- struct{}{}; <-release }))
	defer backend.Close()
	defer close(release)
	set(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+backend.URL, "OTEL_BSP_MAX_QUEUE_SIZE=4", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE=2")
	e, err := fromEnvironment(t, logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		e.Tracer().Begin(web, 0)
		e.Tracer().End(web, tracing.Healthy)
	}
	<-called
	e.Tracer().Begin(web, 0)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := e.Shutdown(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("the end of the export: %v", err)
	}
}

func TestErrorsOfTheExportAreLoggedOnceAMinuteWithoutSecrets(t *testing.T) {
	var lines []string
	clk := clocktesting.NewFakePassiveClock(time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC))
	log := &errorLog{clock: clk, log: funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{})}
	for range 3 {
		log.Handle(errors.New("the backend said: Authorization: Bearer " + secret))
	}
	clk.SetTime(clk.Now().Add(errorInterval))
	log.Handle(errors.New("no route to host"))
	if len(lines) != 2 || !strings.Contains(lines[1], "no route to host") || !strings.Contains(lines[1], `"furtherErrors"=2`) || strings.Contains(lines[0], secret) {
		t.Errorf("the log has %d lines:\n%s", len(lines), strings.Join(lines, "\n"))
	}
}

// The SDK has one handler of errors for the process. The exporter of an earlier test may still report an error to it, and the log then leaves
// out this test's error for a minute. So any error in the log is enough.
func TestErrorsOfTheSDKGetIntoTheLog(t *testing.T) {
	lines := make(chan string, 16)
	set(t, "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318")
	if _, err := fromEnvironment(t, funcr.New(func(_, args string) { lines <- args }, funcr.Options{})); err != nil {
		t.Fatal(err)
	}
	otel.Handle(errors.New("it is full"))
	for len(lines) > 0 {
		if strings.Contains(<-lines, "traces could not be exported") {
			return
		}
	}
	t.Error("the log has no error of the SDK")
}

// With a ratio, the trace of a member must be sampled if, and only if, the trace of its wrapper is.
func TestAMemberIsSampledWithItsWrapper(t *testing.T) {
	set(t, "OTEL_TRACES_SAMPLER=traceidratio", "OTEL_TRACES_SAMPLER_ARG=0.5")
	chosen, err := sampler()
	if err != nil {
		t.Fatal(err)
	}
	spans := tracetest.NewInMemoryExporter()
	tracer := tracing.New(sdk.NewTracerProvider(sdk.WithSampler(chosen), sdk.WithSyncer(spans)), clock.RealClock{})
	for range 200 {
		tracer.Begin(web, 0)
		tracer.Changed(web, "east", "fed-web-1")
		tracer.End(web, tracing.Healthy)
	}
	count := make(map[string]int)
	for _, s := range spans.GetSpans() {
		count[s.Name]++
	}
	if count["federate"] == 0 || count["federate"] == 200 || count["member"] != count["federate"] {
		t.Errorf("of 200 wrappers with a member each: %v", count)
	}
}
