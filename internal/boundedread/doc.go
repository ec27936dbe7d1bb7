// SPDX-License-Identifier: Apache-2.0

// Package boundedread limits how much a member can make Fairlead read and keep in memory.
//
// Words:
//
//   - The *weight* of an object is the number of bytes that it takes in memory, by estimate.
//   - A *Budget* is a limit on an amount of memory, with the amount in use.
//   - *Answers* limits the bodies of the responses on one connection. Each body has a limit of its own, and all bodies
//     that are being read share a budget.
//   - A *Source* limits what a cache keeps. It trims each object that arrives to the part that the cache keeps, and
//     takes the weight of that part out of a budget. All caches of one member share that budget.
//
// The limits of answers and caches are in limits.go. Other limits on what a member sends are in internal/discovery (the
// numbers of API groups, versions and resources) and in internal/deliveries/bounds.go (the summaries of Deliveries).
//
// Why there are limits: a member, or another server at the member's address, could send so much that the manager on the
// host runs out of memory.
//
// Why a body is limited while it is read: client-go reads a whole response before it decodes it, so a later check would
// come too late. Counting bytes is not enough, because JSON grows when it is decoded: `{},` is three bytes on the wire
// and a whole object in memory. So Fairlead also estimates the weight of the decoded body.
//
// Why Fairlead refuses a response that is too large, instead of cutting it: a list without its end would look like a
// member with fewer objects.
package boundedread
