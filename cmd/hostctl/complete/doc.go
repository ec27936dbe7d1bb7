// SPDX-License-Identifier: Apache-2.0

// Package complete completes names of wrappers and members in a shell. `hostctl completion --help` tells how to install it for bash, zsh
// and fish.
//
// The names come from the host, with one list of metadata for each kind. A person waits at a prompt meanwhile, so there is a short time
// limit, and no error is shown: without an answer of the host there are no suggestions.
package complete
