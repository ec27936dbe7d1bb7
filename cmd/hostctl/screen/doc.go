// SPDX-License-Identifier: Apache-2.0

// Package screen writes text for a person: wrapped and colored on a terminal, and as whole lines without colors in a pipe. It cleans
// the text, because texts of members are in it.
package screen
