// SPDX-License-Identifier: Apache-2.0

// Package uninstall is `hostctl uninstall`: it removes the host part. It asks first, and twice before it deletes wrappers. Package
// internal/install does the work.
package uninstall
