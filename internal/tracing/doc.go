// SPDX-License-Identifier: Apache-2.0

// Package tracing makes OpenTelemetry traces of what the manager does after an author has written a wrapper.
//
// Words: the Tracer follows a *generation* of a wrapper from the moment at which the manager first sees it. Its *root
// span*, "federate", lasts until all placed members are Healthy. The steps "place" and "render" are children of the
// root span. Each member whose desired state changes has a span "member" in a trace of its own, with a link to the root
// span. Its children "apply" are the passes of package push. An *outcome* is the reason why a root span or a span
// "member" ended.
//
// If the wrapper's status has already observed a generation, no trace begins for it. So repairs of drift, changes of
// labels, and a restart of the manager make no trace.
//
// Why it is so: a wrapper may be placed on 5,000 members, and backends cut or refuse a trace of so many spans. So each
// member has a trace of its own. The link leads from the member to the root, because a span has 128 links at most.
//
// The work is asynchronous: a reconcile places and renders, a member's queue applies, and a later reconcile finds the
// member Healthy. So the Tracer keeps the open spans in a table. The table holds maxGenerations wrappers and maxMembers
// members. If there are more wrappers, the oldest generation ends with outcome Evicted. If there are more members, they
// get no span.
//
// Spans hold names of wrappers and members, revisions, counts, states, and reasons. They hold no message and no name of
// an object, because such texts come from authors and members and may contain secrets. A reason may come from a member,
// so only those that federate/cause knows are kept (reasonOf).
//
// A nil *Tracer is valid and does nothing. That is how tracing is off: the calls then allocate nothing. Package otlp,
// below this directory, makes a Tracer that exports.
package tracing
