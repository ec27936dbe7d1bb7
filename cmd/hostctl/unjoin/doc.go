// SPDX-License-Identifier: Apache-2.0

// Package unjoin is `hostctl unjoin`: it removes a member from the host and Fairlead from the member. It asks first. Package
// internal/join does the work.
package unjoin
