// SPDX-License-Identifier: Apache-2.0

// Package answering has a fake manager for the tests of commands that ask members. Such a command creates a MemberReport that carries a
// request. The fake manager answers it on a fake host.
//
// A test gives the manager a script for each member. The script runs when the command watches the MemberReport about that member. Each step
// of the script writes a status of the MemberReport, and waits until the command receives this status. So a test needs no sleep, and its
// output is the same each time.
package answering
