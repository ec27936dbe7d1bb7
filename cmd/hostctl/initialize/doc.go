// SPDX-License-Identifier: Apache-2.0

// Package initialize is `hostctl init`: it installs the host part into a cluster. (No package can be imported as init.) Package
// internal/install does the work.
package initialize
