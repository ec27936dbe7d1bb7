// SPDX-License-Identifier: Apache-2.0

// Package upgrade has the rules by which the manager upgrades operators, with OLM, up to the version that spec.upgrade
// names.
//
// Words. The *target* is the CSV (ClusterServiceVersion) that the wrapper names for a Subscription. A CSV is *beyond*
// the target if its version is later. With `approve: Latest` the manager *takes* a version: from the reports of the first
// wave it chooses a CSV and writes it into status.upgrade, and this CSV is the target from then on. An InstallPlan is
// called a *plan* here.
//
// Why it is so:
//
// OLM does not compare versions: a catalog connects CSVs with replaces, skips and skipRange, and the manager cannot
// read the catalog of a member. So Fairlead compares the versions in the CSVs' names, and only if the names give a
// certain order. A caller that gets no order must not guess one: it neither reports an operator as ahead of its target,
// nor approves a plan.
//
// A version that the manager takes becomes a revision of its own. So it passes every gate of a rollout, and a member
// that waits keeps the target of its revision (ADR 28).
package upgrade
