// SPDX-License-Identifier: Apache-2.0

// Package membercluster is the loop over the registry: it keeps a connection to every member that has
// usable credentials, says on the MemberCluster what the probes find, runs the collectors of members
// that the host collects for, and leaves a member whose MemberCluster is deleted.
//
// Why it is so: probe is news from the fleet, not something that this loop polls. A MemberCluster is
// written when a condition changes, never for a heartbeat. Deleting one takes Fairlead's own things off
// the member and nothing else: workloads are their authors', and stay.
package membercluster
