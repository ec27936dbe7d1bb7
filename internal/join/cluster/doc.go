// SPDX-License-Identifier: Apache-2.0

// Package cluster connects to one cluster, the host or a member, and writes objects to it. A join uses it for both.
//
// Why it is so.
//
// Put reads an object, and updates it only if Fairlead's fields differ. It does not use server-side apply. So changes of
// other clients stay (labels, annotations, the rules that Kubernetes fills into an aggregated role), and a join that changes
// nothing writes nothing.
//
// In a dry run every write is sent as a dry run, which the API server refuses for the same reasons as the real write.
package cluster
