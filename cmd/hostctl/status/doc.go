// SPDX-License-Identifier: Apache-2.0

// Package status is `hostctl status`: it shows in one screen whether the host, the members and the wrappers have problems. Package
// internal/install reads their states and finds the problems.
package status
