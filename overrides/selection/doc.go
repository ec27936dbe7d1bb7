// SPDX-License-Identifier: Apache-2.0

// Package selection decides which members a ClusterSelection selects. Placement asks it for a wrapper, and
// overrides ask it for each override, so that both read names and selectors in the same way.
package selection
