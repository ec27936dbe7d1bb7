// SPDX-License-Identifier: Apache-2.0

// Package exit is how hostctl's commands say with which code the program should end: 0 done, 1 failed, 2 usage,
// 3 differs, 4 waits for a person. Scripts tell these apart, so a command never ends the process by itself.
package exit
