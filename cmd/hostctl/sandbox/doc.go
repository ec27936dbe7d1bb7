// SPDX-License-Identifier: Apache-2.0

// Package sandbox is `hostctl sandbox`: real control planes on this machine, to try Fairlead with. This package reads flags and prints.
// Package internal/sandbox does the work; tests and the demo use that package too.
package sandbox
