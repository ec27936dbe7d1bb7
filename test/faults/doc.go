// SPDX-License-Identifier: Apache-2.0

// Package faults kills the manager and the collector, and makes members misbehave, on real API servers. It compares the state of the
// members afterwards with a model.
//
// Words. A *life* is one run of a program, from its start to its death. A *point* is one client call of a life, at
// which the test kills the program. It kills it before the call is sent, or after the server has answered and before
// the program sees the answer. Calls that depend on the clock or on chance (watches, probes, discovery) are no points.
// A *history* is the actions of users before the program died, while it died and while it was dead. The *model*
// computes from the history alone which objects members hold in the end. One part depends on the record at the death:
// the objects that a wrapper leaves for good. The model reads that from the Delivery, as a user could.
//
// Why it is so: a proxy cuts the calls, not a fake client. So the whole program dies, with its caches, queues and connections, and the
// API servers keep running, as in production. The user agent identifies a life, and no request of a dead life gets through. The
// model does not know the implementation: a model that computed its result like the program would repeat the program's mistakes.
package faults
