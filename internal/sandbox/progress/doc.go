// SPDX-License-Identifier: Apache-2.0

// Package progress shows the user the steps of a command, each in a line: • when a step begins, ✓ with the duration when it is done, ✗ when it failed. On a
// terminal, one more line at the bottom shows the running steps. Elsewhere, for example in a log file, a long step prints a line
// each minute, which shows that it still runs.
package progress
