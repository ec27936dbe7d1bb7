// SPDX-License-Identifier: Apache-2.0

// Package version has the version of the running program. A release gets its version at link time. The version of every
// other build contains its commit, so that a bug report always leads to a source tree.
//
// Why it is so: the manager compares its version with that of each member's collector, to find out whether the
// collector is older. So the version of a build that is no release also contains the time of its commit.
package version
