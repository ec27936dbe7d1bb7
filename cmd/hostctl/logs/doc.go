// SPDX-License-Identifier: Apache-2.0

// Package logs implements `hostctl logs`: it prints the ends of logs of failing containers on members, from the MemberReports at the
// host. With --object it can also ask members for the logs of one object, healthy or not. Standard output has the lines of the logs
// only. Standard error tells from which member they are, how old they are, and which members show the same.
//
// The lines of a log have no positions and no timestamps. So with -f the command finds the new lines of a snapshot by the lines that it
// shares with the last one (newLines).
package logs
