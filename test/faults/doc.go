// SPDX-License-Identifier: Apache-2.0

// Package faults kills the manager and the collector at chosen calls, and makes members misbehave, on real API servers.
// Afterwards it compares the state of the members with a model. A few tests use the same fleet to look at what the whole manager sends:
// its requests, and its traces.
//
// Words:
//
//   - A *life* is one run of a program (the manager or a collector), from its start to its death.
//   - A *point* is one client call of a life, at which the test kills the program: before the call reaches the server, or
//     after the server has carried it out and before the program gets the answer. Calls that depend on the clock or on
//     chance (watches, probes, discovery) are no points.
//   - An *intent* is the manager's write of a Delivery before it writes objects. A *record* is its write of the Delivery
//     after that. The manager leaves out the intent where nothing can be lost without it.
//   - A *history* is the actions of users before the program died, while it died and while it was dead.
//   - The *model* computes from the history which objects the members must have in the end. It also reads
//     the Delivery as it was at the death, which shows which objects the wrapper has left for good. Users can read it too.
//
// Proxies in front of the real API servers cut the calls; no fake client does. So the whole program dies, with its caches,
// queues and connections, while the API servers keep running, as in production. The proxies know a life by its user
// agent, and let no request of a dead life through. The model does not use the program's code: a mistake in that code
// would then be in the model too, and the tests would not find it.
package faults
