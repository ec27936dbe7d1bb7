// SPDX-License-Identifier: Apache-2.0

// Package uninstall is `hostctl uninstall`: it takes the host part away. It asks first, and twice before it deletes wrappers. The work
// itself is done by package internal/install.
package uninstall
