// SPDX-License-Identifier: Apache-2.0

// Package answering has a manager for the tests of commands that ask members. On a fake host, it answers the MemberReports that carry a
// request.
//
// A test gives the manager a script for each member. The script runs when the command watches the report of that member. Each step of the
// script waits until the command receives the state of that step. So a test needs no sleep, and its output is the same each time.
package answering
