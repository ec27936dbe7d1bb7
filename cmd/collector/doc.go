// SPDX-License-Identifier: Apache-2.0

// Command collector observes the member that it runs in, or that a kubeconfig leads to. It judges the objects that
// Fairlead pushed there, and writes the result into the status of Deliveries and of the Membership. It writes nothing
// else. See internal/collect.
package main
