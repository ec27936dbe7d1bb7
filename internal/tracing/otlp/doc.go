// SPDX-License-Identifier: Apache-2.0

// Package otlp exports the traces of package tracing by OTLP over HTTP, as the standard environment variables of
// OpenTelemetry say.
//
// Tracing is off unless a variable gives an endpoint. The SDK and the exporter read most variables themselves. They only
// log a wrong value, and go on with a default. So this package first checks each variable that it documents
// (environment.go), and the manager does not start with a wrong one. An error names the variable, and never the value:
// headers and endpoints may hold credentials.
//
// A backend that is slow or down costs the manager nothing but the lost spans. The SDK queues at most 2,048 spans
// (OTEL_BSP_MAX_QUEUE_SIZE), drops what does not fit, and sends from a goroutine of its own.
//
// Why there is no gRPC: every collector of OpenTelemetry takes OTLP over HTTP too.
package otlp
