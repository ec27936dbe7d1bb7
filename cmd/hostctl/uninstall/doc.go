// SPDX-License-Identifier: Apache-2.0

// Package uninstall is `hostctl uninstall`: it removes the manager and what belongs to it from the host. It asks the user first, and asks a
// second time before it deletes wrappers. Package internal/install does the work.
package uninstall
