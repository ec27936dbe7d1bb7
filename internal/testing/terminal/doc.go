// SPDX-License-Identifier: Apache-2.0

// Package terminal runs a command of hostctl in a pseudo-terminal of the kernel, for tests. A test that only sets the width of the output
// would not notice if the command asked the wrong stream, or wrote to it without wrapping.
package terminal
