// SPDX-License-Identifier: Apache-2.0

// Package inflight finds out how many requests one API server can bear at once, and lets no more be under way.
//
// Words: a *Limit* belongs to one client of one API server: the host's pushes to a member have one, the looks of its collector
// another. A *place* is the right to have one request after the other under way. Passes are counted, not requests, so a probe or
// a watch never waits; their answers count all the same. Answers are *slow* when writes take twice as long as the quickest write
// of the last minutes.
//
// A rate (client-go's QPS) has to be guessed, and is wrong for every server but one: it throttles a large server that is far away
// and overruns a small one. The load of a server can be measured instead. So the limit begins with First. It grows by about one
// for each round of answers while a pass waits for a place and answers are not slow. It is halved when they are slow, though not
// below First. An answer of 429 halves it below First too, and no pass begins until the server's Retry-After is over; passes that
// are under way continue at client-go's pace. After a request that is not answered, or one about Fairlead's own kinds that is
// answered 500 or more, the limit begins with First again: a server that comes back may bear less than before.
//
// Only writes of Fairlead's own kinds are timed. They are small, always reach etcd and pass no webhook of the member's users: one
// slow webhook tells nothing about the server. Lists and watches tell nothing at all.
//
// The price: a server that is far away, or large, gets all that it could bear only after some dozen round trips.
package inflight
