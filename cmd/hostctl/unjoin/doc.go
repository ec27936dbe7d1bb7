// SPDX-License-Identifier: Apache-2.0

// Package unjoin is `hostctl unjoin`: it removes the member from the host, and Fairlead from the member. It asks the user first. Package
// internal/join does the work.
package unjoin
