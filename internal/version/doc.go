// SPDX-License-Identifier: Apache-2.0

// Package version holds the version of the running build. A release sets it at link time. Other builds are named after their commit, so that
// a bug report always leads to a source tree.
package version
