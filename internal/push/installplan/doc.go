// SPDX-License-Identifier: Apache-2.0

// Package installplan approves the InstallPlans of OLM v0 that bring a member's operators to the targets of
// spec.upgrade.
//
// Words: a *CSV* is a ClusterServiceVersion, one version of an operator. A *target* is the CSV to which a Subscription
// of the wrapper is to be upgraded. An InstallPlan is *pending* if the collector has reported that it waits for an
// approval.
//
// Why the manager approves, and not the collector: the collector has no right to write InstallPlans. Its report only
// tells the manager that a plan waits. Before an approval, the manager itself reads the plan and all Subscriptions of
// the namespace, and package federate/upgrade decides.
package installplan
