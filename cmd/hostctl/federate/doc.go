// SPDX-License-Identifier: Apache-2.0

// Package federate is `hostctl federate`. It reads plain manifests and prints wrappers that hold them. This package reads flags and
// files and prints; package federate/author does the work.
package federate
