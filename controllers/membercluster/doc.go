// SPDX-License-Identifier: Apache-2.0

// Package membercluster is the control loop over MemberClusters. It keeps a connection to every member that has usable
// credentials, and renews the credentials. It writes the results of the probes into the status, and runs the collectors
// of members with `collector: Host`. When a MemberCluster is deleted, it removes Fairlead's own objects from the member.
//
// Words: a *task* is what the manager does continuously for one member and its collector. It has up to four parts:
//
//   - The manager compares Fairlead's CRDs on the member with the host's CRDs.
//   - With `collector: Member`, the manager reads the collector's Deployment on the member. The result of this part and
//     of the first part is an *inspection*.
//   - If the member granted the host every API group, the manager extends the collector's role to the kinds that the
//     member serves.
//   - With `collector: Host`, the manager runs the collector itself.
//
// The fleet reports the results of probes, so this loop does not poll. It writes a MemberCluster only when its status
// changes. A new heartbeat alone does not change the status. After the deletion of a MemberCluster, the objects of
// wrappers stay on the member, because they belong to the authors of the wrappers.
package membercluster
