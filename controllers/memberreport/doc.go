// SPDX-License-Identifier: Apache-2.0

// Package memberreport is the loop that writes the evidence of members into MemberReports, next to the wrappers.
//
// A member's evidence passes through these files:
//
//  1. store.go gets the evidence with each change of a Delivery, and evidence.go keeps it in memory. Package federate/memberreport
//     decides which evidence is kept and which reports there are. It also defines what a member *shows*, and what a *sample* is.
//  2. memory.go bounds the memory of all evidence, and the share of one member. The reports are a part of that evidence, so the
//     same bound holds for etcd.
//  3. controller.go compares the reports of one wrapper with those on the API server, and write.go writes them.
//
// wrappers.go watches the wrappers of the host, and placements.go keeps them. A member is trusted only about itself: evidence about a
// wrapper that does not exist, that has another uid, or that is not placed on the member does not count.
//
// The manager deletes no report because it lacks information. If it cannot reach a member, the member's last evidence stays in the
// reports. After a restart the store is empty. The loop then reads each report that it finds. It assumes that the members in the
// report still show the same, until the manager has read their Deliveries.
//
// Why the loop has only the metadata of reports in its cache: all reports together may have 256 MiB. The loop remembers a digest of
// each report that it has written or read.
package memberreport
