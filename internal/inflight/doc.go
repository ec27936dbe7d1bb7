// SPDX-License-Identifier: Apache-2.0

// Package inflight finds out how many requests one API server can serve at the same time, and keeps each client below
// that number.
//
// Words: a *pass* is a piece of work that sends its requests one after the other, for example one push. A *Limit*
// belongs to one client of one API server, and bounds its concurrent passes. The host's pushes to a member have one,
// and the passes of the member's collector have another. A *place* is the right to run one pass. A probe or a watch
// takes no place, so it never waits. The Limit learns from the answers to all requests except lists and watches.
// Answers are *slow* when writes take twice as long as the quickest write of the last minutes.
//
// Why it is so: a rate (client-go's QPS) has to be guessed. The same rate throttles a large server that is far away, and
// overloads a small one. The load of a server can be measured instead.
//
//   - The limit begins with First.
//   - It grows by about one for each round of answers, while a pass waits for a place and answers are not slow.
//   - Slow answers halve it, though not below First.
//   - An answer of 429 halves it, and may lower it below First. No pass begins until the server's Retry-After is over. In
//     passes that are under way, client-go waits as the Retry-After of each answer demands.
//   - The limit falls to First when a request gets no answer, or when a request about Fairlead's own kinds gets an
//     answer of 500 or more. A server that comes back may be able to serve less than before.
//
// The limit times only writes of Fairlead's own kinds. They are small, always reach etcd, and pass no webhook of the
// member's users: a slow webhook says nothing about the server. The time of a list or a watch says nothing about the
// load either.
//
// The price: a server that is far away or large is fully used only after some dozen round trips.
package inflight
