// SPDX-License-Identifier: Apache-2.0

// Package credentials reads and writes the Secrets at the host that hold members' credentials.
//
// Words. A *binding* is what the credentials in a Secret are for: one member, and one connection to it. It stands in the
// Secret, next to the credentials.
//
// Why it is so. Many people may edit MemberClusters, and few may read Secrets. Were the connection taken from the
// MemberCluster alone, an editor of one could have the token sent to a server of the editor's own: through a proxy, and for a
// server name for which the editor holds a certificate. So the manager compares each field of the connection with the binding, and
// `hostctl join` takes what an earlier join said from the binding and never from the MemberCluster.
//
// The package is pure: it has no client.
package credentials
