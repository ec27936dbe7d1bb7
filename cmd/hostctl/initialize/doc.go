// SPDX-License-Identifier: Apache-2.0

// Package initialize is `hostctl init`: it installs the manager, the CRDs, the webhooks and the roles, which make a cluster a host. Package
// internal/install does the work. (The package cannot be named init: Go does not allow that in an import.)
package initialize
