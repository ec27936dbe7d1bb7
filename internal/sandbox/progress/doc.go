// SPDX-License-Identifier: Apache-2.0

// Package progress tells a person what is going on, one line a step: • begun, ✓ done and how long it took, ✗ failed.
// On a terminal the running steps share one live line at the bottom; in a pipe, where nobody can redraw, a step that
// lasts says so once a minute, so that a log shows that a long build is alive.
package progress
