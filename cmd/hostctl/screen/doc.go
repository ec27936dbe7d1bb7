// SPDX-License-Identifier: Apache-2.0

// Package screen writes text for a person: wrapped and colored on a terminal, and as whole lines without colors in a pipe. It removes
// control characters from the text, because members write parts of it.
package screen
