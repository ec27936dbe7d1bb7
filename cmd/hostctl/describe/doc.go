// SPDX-License-Identifier: Apache-2.0

// Package describe implements `hostctl describe`: it shows the on-call person what is wrong with a wrapper, on which members, and
// what to do next.
//
// The command reads the wrapper, its MemberReports and its events from the host, and nothing else. So a person who may read the
// wrappers of one namespace can use it, without rights on MemberClusters and without access to a member.
//
// A member is not trusted, and the status contains texts that it wrote. So the command makes every text safe for a terminal before it
// prints it, in each format (see package evidence).
package describe
