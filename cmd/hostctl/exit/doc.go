// SPDX-License-Identifier: Apache-2.0

// Package exit defines hostctl's exit codes, on which scripts rely: 0 done, 1 failed, 2 wrong usage, 3 differs, 4 waits for a person. A
// command returns an error with a code, and never ends the process itself.
package exit
