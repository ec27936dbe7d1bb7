// SPDX-License-Identifier: Apache-2.0

// Package boundedread bounds how much a member, or a server that answers in its place, can make Fairlead read and
// hold. The limits of answers and of caches are in limits.go. The numbers of API groups, versions and resources are
// bounded in internal/discovery, the memory of summaries in internal/deliveries/bounds.go.
//
// Words. A *Budget* is so much memory, and how much of it is in use. *Answers* bounds the bodies of the answers on one
// connection: each by its own limit, and all that are being read at a time by a budget. A *Source* bounds what a cache holds:
// it trims each object on arrival, and takes what is left of it out of the budget that all caches of one member share. The
// *weight* of something is about how many bytes of memory it takes.
//
// Why it is so:
//
// A member is not trusted with the host's memory. Client-go reads an answer whole before it looks at it, so the body itself
// has to end where the limit is. JSON grows when it is decoded: `{},` is three bytes on the wire and a whole object in memory.
// So the bytes of a body are counted, and so is the weight of what they may become.
//
// An answer is not cut short but refused, with the connection that brought it. A list that misses its end would look like a
// member that holds less than it does.
package boundedread
