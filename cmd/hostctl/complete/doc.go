// SPDX-License-Identifier: Apache-2.0

// Package complete completes names of wrappers and members in a shell. `hostctl completion --help` tells how to install it for bash, zsh
// and fish.
//
// The names come from the host: one list of metadata for each kind. A person waits at the prompt for them, so the time is limited.
// Errors are not shown: if the host does not answer, the shell gets no names.
package complete
