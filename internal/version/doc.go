// SPDX-License-Identifier: Apache-2.0

// Package version holds the version of the running build. A release sets it at link time. Other builds are named after their commit, so that
// a bug report always leads to a source tree.
//
// Why it is so: a build's version has the time of its commit, so versions alone tell which of two builds is newer. A member's collector
// and the host's manager report no more than that.
package version
