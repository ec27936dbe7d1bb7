// SPDX-License-Identifier: Apache-2.0

// Package sandbox brings up a host and members on this machine: real control planes, simulated nodes, no Docker, no
// root. The demo, the end-to-end tests and the benchmarks run on it, and so does everyone who tries Fairlead out.
//
// Words. A *sandbox* is a name, a folder in the user's cache and one supervising process. Its *clusters* are `host`
// and `member-1` to `member-N`. *Up* makes it what was asked for, from nothing or from whatever is there: a sandbox that
// is well is left alone, what is dead is started again, and what was there is never made smaller. *Stop* ends a
// cluster's processes and keeps its state, as an outage does; *Down* throws everything away. To *publish* is to add the next
// version of the demo operator to the members' catalogs.
//
// Why it is so. All state lives in the cache, below sandboxes/NAME, so that taking a sandbox down is ending its processes
// and removing one folder, also when it is half built, half dead or from before a reboot. Ports are chosen once,
// outside the range from which the system picks ports for outgoing connections: a stopped cluster must find its own
// again. Two commands for one sandbox take turns by a lock of the kernel, which no crash leaves behind. What runs for a
// member (its collector, the demo operator where its pod is simulated) belongs to that member's processes and stops with
// it; the one process that sees to the operators of all members belongs to no cluster, so that no outage ends it, and what
// it has started goes on when it ends itself.
package sandbox
