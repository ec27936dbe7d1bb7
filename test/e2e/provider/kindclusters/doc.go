// SPDX-License-Identifier: Apache-2.0

// Package kindclusters provides clusters of kind to the end-to-end suite: a host, member-1 and member-2, in one network of Docker.
//
// Words. A *node* is a container that runs a kubelet. member-2 has a control plane and two workers; the others have one node each.
// The *pod image* is the suite's own program for test pods (test/e2e/pod).
//
// The host part is installed and the members are joined with the commands that a user types. member-1 has the default grants and the
// namespace policy Managed. member-2 has the grant any and the policy All.
//
// Why it is so: members are joined at the name of their container, which stays when a container stops and starts. Clusters that exist
// already may belong to the user, so they are never taken over or deleted without KEEP=1.
package kindclusters
