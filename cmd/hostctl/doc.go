// SPDX-License-Identifier: Apache-2.0

// Command hostctl is the command line of Fairlead. See `hostctl --help`.
//
// Each command is a package below this folder, and has one line in function New. A command parses flags, asks questions and prints.
// A package outside cmd does the work, which the manager, the sandbox or tests use too. Data goes to standard output, and
// everything else to standard error.
package main
