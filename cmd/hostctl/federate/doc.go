// SPDX-License-Identifier: Apache-2.0

// Package federate is `hostctl federate`. It reads plain manifests and prints wrappers with these manifests as their objects. This
// package reads flags and files, and prints. Package federate/author makes the wrappers.
package federate
