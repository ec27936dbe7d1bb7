// SPDX-License-Identifier: Apache-2.0

// Package evidence reads what the host has about a wrapper that is not healthy: the wrapper, its events, and its MemberReports. The
// commands describe, events and logs show it.
//
// The package reads nothing else, so the ClusterRole fairlead-oncall in one namespace is enough: it needs no MemberClusters, and no
// access to a member.
//
// A member is not trusted, and the status and the reports contain texts that it wrote. So the package makes every text safe for a
// terminal: it removes control characters, and bounds the length of all texts but logs.
package evidence
