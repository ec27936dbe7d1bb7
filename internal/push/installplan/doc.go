// SPDX-License-Identifier: Apache-2.0

// Package installplan approves the InstallPlans of OLM v0 that bring a member's operators to the targets of
// spec.upgrade.
//
// Words: a *target* is the CSV that a Subscription of the wrapper is upgraded to. A plan is *pending* if it waits for the
// manager, as the collector has reported.
//
// Why it is so: collectors are read-only, so the manager approves. It reads the plan and all Subscriptions of the namespace
// itself before that, because a collector's report only says that it is time to look. Package federate/upgrade decides.
package installplan
