// SPDX-License-Identifier: Apache-2.0

// Package credentials decodes and encodes the content of the Secrets on the host that hold the credentials for members.
//
// Words: a *binding* is a part of such a Secret. It names the member, and the connection to it, for which the manager may
// use the credentials.
//
// Why there is a binding: many people may edit MemberClusters, and few may read Secrets. If the manager took the connection
// only from the MemberCluster, an editor of MemberClusters could send the token to a server of their own. It would be
// enough to change proxyURL and tlsServerName. So the manager compares each connection field of the MemberCluster with the
// binding, and does not connect if they differ. For the same reason, `hostctl join` takes the settings of an earlier join
// from the binding, and not from the MemberCluster.
//
// The package is pure: it has no client.
package credentials
