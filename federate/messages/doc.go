// SPDX-License-Identifier: Apache-2.0

// Package messages writes parts of messages that several packages share: bounded lists of names, numbers of clusters,
// and the hostctl commands that a message recommends.
package messages
