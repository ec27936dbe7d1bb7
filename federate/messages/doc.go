// SPDX-License-Identifier: Apache-2.0

// Package messages writes the parts of messages that several packages share. These are bounded lists of names, and the
// hostctl commands that a message tells the on-call to run.
package messages
