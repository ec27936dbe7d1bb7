// SPDX-License-Identifier: Apache-2.0

// Package membercluster is the loop over MemberClusters. It keeps a connection to every member that has usable
// credentials, and renews these. It writes the results of the probes into the status. It runs the collectors of members
// with collector: Host. When a MemberCluster is deleted, it withdraws from the member.
//
// Words. A *task* is the work of the manager for a member's collector: the collector itself, the upkeep of the read
// rights of the collector's account, or both.
//
// Why it is so. The fleet reports the results of probes, and this loop does not poll. It writes a MemberCluster when a condition
// changes, never for a heartbeat. Deleting a MemberCluster removes Fairlead's own objects from the member and nothing else:
// workloads belong to their authors, and stay.
package membercluster
