// SPDX-License-Identifier: Apache-2.0

// Package selection decides which members a ClusterSelection selects. Placement uses it for wrappers, and package overrides for overrides. So names and
// selectors mean the same in both.
package selection
