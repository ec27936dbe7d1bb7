// SPDX-License-Identifier: Apache-2.0

// Package join is `hostctl join`: it makes a cluster a member of the host. This package reads flags and kubeconfigs, asks the user and
// prints. Package internal/join does the work; the sandbox uses that package too.
package join
