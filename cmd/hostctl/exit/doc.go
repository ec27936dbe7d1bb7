// SPDX-License-Identifier: Apache-2.0

// Package exit defines hostctl's exit codes, and the errors that carry them: 0 done, 1 failed, 2 usage, 3 differs, 4 waits for a
// person. Scripts tell these apart. A command returns such an error and never ends the process itself.
package exit
