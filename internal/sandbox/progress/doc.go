// SPDX-License-Identifier: Apache-2.0

// Package progress shows the user the steps of a command, one line per step: • begun, ✓ done, with its duration, ✗
// failed. On a terminal the running steps share one live line at the bottom. A pipe has no live line. There a long step
// prints a line once a minute, so that a log shows that it still runs.
package progress
