// SPDX-License-Identifier: Apache-2.0

// Command collector observes the member that it runs in, or that a kubeconfig leads to: it judges what
// Fairlead pushed there, and says so in the status of Deliveries and of the Membership. It writes
// nothing else. See internal/collect.
package main
