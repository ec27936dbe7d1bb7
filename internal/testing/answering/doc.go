// SPDX-License-Identifier: Apache-2.0

// Package answering has a manager for the tests of commands that ask members: it answers MemberReports with a request on a fake host.
//
// A test gives the manager a script for each member. The script runs when the command watches the report of that member, and each of its
// steps waits until the command has taken the state before. So a test needs no sleep, and its output is the same each time.
package answering
