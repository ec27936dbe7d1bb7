// SPDX-License-Identifier: Apache-2.0

// Command collector observes one member: the cluster in which its pod runs, or the cluster of --kubeconfig. It judges the objects
// that Fairlead pushed to the member. It writes the result into the status of Deliveries and of the Membership, and writes
// nothing else. See internal/collect.
package main
