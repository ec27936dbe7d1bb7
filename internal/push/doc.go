// SPDX-License-Identifier: Apache-2.0

// Package push brings members to what the host wants, and is, with join, the only writer on a member.
//
// Words: a *pair* is one wrapper on one member. A *Want* is what the host wants of a pair: these
// objects, or to leave. A *Seen* is the little that is kept of a pair's Delivery as the member has it.
// A *pass* is one attempt to bring a pair from what is seen to what is wanted, and its *Outcome* is
// how far it got. Each member has a *lane*: one queue, as many passes at once as the member bears (package
// inflight), backoff and a circuit breaker, so that a hung member costs the others nothing.
//
// A pass goes through fixed steps, a file each: resolve (how does the member serve these kinds, and
// may they go there), intend (write into the Delivery what is about to happen), look (at what is not
// recorded as ours), apply, remove (once all that is wanted stands), record (write into the Delivery what did happen). Nothing is ever
// on a member that no Delivery lists, and whatever kills a pass half-way, the next one finds in the
// Delivery where to go on.
//
// Why it is so: the record of what was delivered lives on the member, beside the objects. The host
// therefore stores nothing for M×N pairs, forgets nothing with its own etcd, and learns everything
// after a restart from one paged list for each member. The price is two more writes for each change,
// on the member's API server rather than on the one that everybody shares.
//
// Drift is what collectors report, and a pass repairs it. An object that is changed back after every
// repair is *contested*: its repairs become rare (contest.go decides, fights.go keeps the count). Secrets,
// which no collector may read, are looked at in *rounds*: each one every ten minutes, at most ten a second
// over the whole fleet (rounds.go decides, secrets.go does it).
//
// A deletion always names a uid: the one that was recorded or, where a pass died before it could record
// one, that of the object with our marks. One that somebody made anew under the same name is not ours to
// delete.
//
// Under KeepData a deletion also asks what would go with the object (keepdata.go, dependents.go): what a claim's
// ownerReferences lead to is left where it is.
package push
