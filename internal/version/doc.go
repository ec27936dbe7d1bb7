// SPDX-License-Identifier: Apache-2.0

// Package version holds the version of the running build. A release sets it at link time. The version of another build has its commit,
// so a bug report always leads to a source tree.
//
// Why it is so: the version of such a build also has the time of its commit, so two versions alone show which build is newer. A member's
// collector and the host's manager report only their version.
package version
