// SPDX-License-Identifier: Apache-2.0

// Package membercluster is the loop over MemberClusters. It keeps a connection to every member that has usable
// credentials, and renews the credentials. It writes the results of the probes into the status. It runs the collectors
// of members with collector: Host. When a MemberCluster is deleted, the loop withdraws from the member.
//
// Words. A *task* is what the manager does continuously for one member's collector. It inspects Fairlead's CRDs on the
// member, and the collector's Deployment if there is one. If the host was granted every group, it keeps up the read
// permissions of the collector's account. With collector: Host, it runs the collector itself.
//
// Why it is so. The fleet reports the results of probes, and this loop does not poll. It writes a MemberCluster when a
// condition changes, never for a heartbeat alone. Deleting a MemberCluster removes Fairlead's own objects from the
// member and nothing else: workloads belong to their authors, and stay.
package membercluster
