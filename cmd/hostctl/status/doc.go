// SPDX-License-Identifier: Apache-2.0

// Package status is `hostctl status`: it shows in one screen whether host and members are well. Package internal/install reads and
// judges them.
package status
