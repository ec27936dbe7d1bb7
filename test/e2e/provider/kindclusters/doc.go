// SPDX-License-Identifier: Apache-2.0

// Package kindclusters provides clusters of kind to the end-to-end suite: a host, member-1, member-2 and member-3, in one network of
// Docker.
//
// Words. A *node* is a container that runs a kubelet. member-2 has a control plane and two workers; the other clusters have one node each.
// The *pod image* has the program of the test pods (test/e2e/pod). The nodes of member-3 also have images of OLM and of the demo operator.
//
// The package installs Fairlead on the host and joins the members with the commands that a user types. member-1 has the default grants
// and the namespace policy Managed. member-2 and member-3 have the grant any and the policy All.
//
// Why it is so: each MemberCluster has the name of the member's container as its address, because that name stays when a container
// stops and starts. Clusters that exist already may belong to the user, so the package uses or deletes them only with KEEP=1.
package kindclusters
