// SPDX-License-Identifier: Apache-2.0

// Package boundedread bounds how much a member can make Fairlead read and hold. The same bounds apply to any other
// server that answers at the member's address. The limits of answers and of caches are in limits.go. internal/discovery
// bounds the numbers of API groups, versions and resources. internal/deliveries/bounds.go bounds the memory of
// summaries.
//
// Words. A *Budget* is an amount of memory, of which a part is in use. *Answers* bounds the bodies of the answers on
// one connection. Each body has its own limit, and all bodies that are being read share a budget. A *Source* bounds
// what a cache holds. It trims each object on arrival to the part that the cache keeps, and takes the weight of that
// part out of the budget of the member's caches. The *weight* of an object is about how many bytes of memory it takes.
//
// Why it is so:
//
// A member is not trusted with the host's memory. Client-go reads an answer whole before it decodes it, so the body
// itself has to end at the limit. JSON grows when it is decoded: `{},` is three bytes on the wire and a whole object in
// memory. So Fairlead counts the bytes of a body, and the weight that they would have once decoded.
//
// An answer that is too large is not cut short but refused, and its connection is closed. A list without its end would
// look like a member that holds fewer objects.
package boundedread
