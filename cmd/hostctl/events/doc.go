// SPDX-License-Identifier: Apache-2.0

// Package events implements `hostctl events`: it shows in one table, in the order of time, the events of a wrapper at the host and the
// events about its objects on the members, which the MemberReports have. With --object it can also ask members for the events of one
// object, healthy or not.
//
// With -w the command watches. It watches only the metadata of MemberReports, and reads a report when it changes: a namespace can have
// reports of many wrappers, with kilobytes of logs in each.
//
// An event of a member has the time of the member's clock. The host's manager knows when it received the event, so the command shows
// no later time than that.
package events
