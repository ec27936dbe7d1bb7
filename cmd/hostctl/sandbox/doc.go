// SPDX-License-Identifier: Apache-2.0

// Package sandbox is `hostctl sandbox`: real control planes on this machine to try Fairlead with. Commands only read
// flags and print; what they do is package internal/sandbox, which tests and the demo use in the same way.
package sandbox
