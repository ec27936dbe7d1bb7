// SPDX-License-Identifier: Apache-2.0

// Command hostctl is the command line of Fairlead. See `hostctl --help`.
//
// Each command is a package of its own below this folder, and one line in New. A command parses flags, asks and prints; its work
// is done by a package outside cmd, which the manager, the sandbox or the tests use too. Data goes to stdout, everything else to
// stderr.
package main
