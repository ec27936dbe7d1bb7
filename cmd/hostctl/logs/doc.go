// SPDX-License-Identifier: Apache-2.0

// Package logs implements `hostctl logs`: it prints the ends of logs of failing containers on members, from the MemberReports at the
// host. With --object it can also ask members for the logs of one object, healthy or not. Standard output has the lines of the logs
// only. Standard error tells from which member they are, how old they are, and which other members show the same failure.
//
// Each answer has a snapshot: the last lines of a log. The lines have no positions and no timestamps. So with -f the command compares
// each snapshot with the one before it. It looks for the lines that both have, and the lines after these are new (newLines).
package logs
