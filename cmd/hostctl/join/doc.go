// SPDX-License-Identifier: Apache-2.0

// Package join is `hostctl join`: it makes a cluster a member of the host. This package reads flags and kubeconfigs, asks and
// prints. Package internal/join does the work, for the sandbox too.
package join
