// SPDX-License-Identifier: Apache-2.0

// Package upgrade holds the rules by which OLM-managed operators go up to the version that spec.upgrade names.
//
// Words. The *target* is the CSV (ClusterServiceVersion) that the wrapper names for a Subscription. A CSV is *beyond* the
// target if its version is later.
//
// Why it is so:
//
// OLM itself does not go by versions: a catalog connects CSVs with replaces, skips and skipRange, and the member's catalog is
// not at hand where Fairlead decides. So the names decide, and only where they are certain. A caller that gets no order must
// not guess one: it neither calls an operator ahead of its target, nor approves a plan because of it.
package upgrade
