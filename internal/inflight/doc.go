// SPDX-License-Identifier: Apache-2.0

// Package inflight finds out how many requests one API server can bear at once, and lets no more be under way.
//
// Words: a *Limit* belongs to one API server and is shared by all who ask it. A *place* is the right to have one request
// after the other under way. An answer is *slow* when writes take twice as long as they did at their best of late.
//
// A rate (client-go's QPS) has to be guessed, and is wrong for every server but one: it throttles a large one that is far
// away and overruns a small one. What can be measured is how a server fares. So the limit begins with First, grows by one
// in about a round of answers while all places are taken and answers are no slower than before, shrinks again
// to First when they become slow, and is halved, below First too, by an answer of 429, after which nobody begins
// until the server's Retry-After is over. That is how TCP finds out what a wire can bear.
//
// The price is that a server which is far away, or large, gets all that it could bear only after some thirty round trips.
package inflight
