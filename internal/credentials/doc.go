// SPDX-License-Identifier: Apache-2.0

// Package credentials reads and writes the Secrets at the host that hold members' credentials.
//
// Words. A *binding* is what the credentials in a Secret are for: one member, and one connection to it. It stands in the
// Secret, next to the credentials.
//
// Why it is so. Many people may edit MemberClusters, and few may read Secrets. Were the connection taken from the
// MemberCluster alone, whoever edits one could have the token sent to a server of their own, by way of a proxy and a server
// name for which they hold a certificate. So the manager compares each field of the connection with the binding, and
// `hostctl join` takes what an earlier join said from the binding and never from the MemberCluster.
//
// The package is pure: it has no client.
package credentials
