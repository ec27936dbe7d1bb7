// SPDX-License-Identifier: Apache-2.0

// Package tokens requests, renews, stores and revokes the tokens with which the host uses a member. A join exchanges the
// tokens once (Exchange), and the manager renews and revokes them later (Renew, Revoke).
//
// Words:
//
//   - The *Secret at the host* has the host's token for one member, and the collector's token if the collector runs inside
//     the manager. It also has the *binding*: the address and the CA for which the tokens are meant.
//   - A *token Secret* is an empty Secret on the member to which a token is bound. Its deletion revokes the token. The
//     Secret at the host lists the token Secrets that the manager still has to delete (key SecretSuperseded).
//
// Why it is so.
//
// Joins, renewals by the manager and unjoins may run at the same time. Each of them writes the Secret at the host only if
// its resourceVersion is still the one that it has read. So if two of them overlap, only one can write the Secret; see
// Exchange.
package tokens
