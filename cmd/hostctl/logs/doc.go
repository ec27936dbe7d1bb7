// SPDX-License-Identifier: Apache-2.0

// Package logs implements `hostctl logs`: it prints the ends of logs of failing containers on members, from the MemberReports at the
// host. Standard output has the lines of the logs only. Standard error tells from which member they are, how old they are, and which
// members show the same.
package logs
