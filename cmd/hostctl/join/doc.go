// SPDX-License-Identifier: Apache-2.0

// Package join is `hostctl join`: it makes a cluster a member of the host. It reads flags and kubeconfigs and
// prints; what it does is package internal/join, which the sandbox uses in the same way.
package join
