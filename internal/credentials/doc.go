// SPDX-License-Identifier: Apache-2.0

// Package credentials reads and writes the Secrets at the host that hold members' credentials.
//
// Words. A *binding* names the use of the credentials in a Secret: one member, and one connection to it. It is in the
// Secret, next to the credentials.
//
// Why it is so. Many people may edit MemberClusters, and few may read Secrets. Suppose that the manager took the
// connection from the MemberCluster alone. Then an editor of one could have the token sent to the editor's own server.
// A proxy would be enough, with a server name for which the editor holds a certificate. So the manager compares each
// field of the connection with the binding. `hostctl join` takes the settings of an earlier join from the binding, and
// never from the MemberCluster.
//
// The package is pure: it has no client.
package credentials
