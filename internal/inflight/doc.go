// SPDX-License-Identifier: Apache-2.0

// Package inflight finds out how much one API server can bear at once, and lets no more be under way.
//
// Words: a *Limit* belongs to one user of one API server: the host's pushes to a member have one, the looks of its collector
// another. A *place* is the right to have one request after the other under way: what is counted are passes, not
// requests, so that a probe or a watch never waits. Their answers count all the same. An answer is *slow* when writes
// take twice as long as they did at their best of late.
//
// A rate (client-go's QPS) has to be guessed, and is wrong for every server but one: it throttles a large one that is far
// away and overruns a small one. What can be measured is how a server fares. So the limit begins with First, grows by
// about one for each round of answers while somebody waits for a place and answers are not slow, and is halved when they
// are, though not below First. An answer of 429 halves it below First too, and nobody begins until the server's
// Retry-After is over; who is under way already goes on at client-go's pace. A request that is not answered, or one about
// Fairlead's own kinds that is answered 500 and more, has everybody begin with First again: a server that comes back need
// not bear what it bore.
//
// Only writes of Fairlead's own kinds are timed, which are small, always reach etcd and pass no webhook of the member's
// people: one slow webhook says nothing of the server. Lists and watches say nothing at all.
//
// The price is that a server which is far away, or large, gets all that it could bear only after some dozen round trips.
package inflight
