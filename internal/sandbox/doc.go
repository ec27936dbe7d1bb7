// SPDX-License-Identifier: Apache-2.0

// Package sandbox brings up a host and members on this machine: real control planes, simulated nodes, no Docker, no
// root. The demo, the end-to-end tests and the benchmarks run on it, and so does every user who tries Fairlead out.
//
// Words. A *sandbox* is a name, a folder in the user's cache and one supervising process. Its *clusters* are `host` and
// `member-1` to `member-N`. *Up* brings a sandbox to the state that the options describe, from nothing or from whatever
// exists. It leaves working parts alone, starts dead parts again, and removes nothing. *Stop* ends a cluster's
// processes and keeps its state, as an outage does. *Down* removes everything. To *publish* is to add the next version
// of the demo operator to the members' catalogs.
//
// Why it is so. All state is in the cache, below sandboxes/NAME. So taking a sandbox down is ending its processes and
// removing one folder, also when it is half built, half dead or from before a reboot. Ports are chosen once, outside
// the range from which the system picks ports for outgoing connections: a stopped cluster must find its own again. Two
// commands for one sandbox take turns by a lock of the kernel, which no crash leaves behind.
//
// A member's collector, and its demo operator if the pod is simulated, belong to that member's processes and stop with
// it. One process watches the Deployments of the demo operator on all members. It belongs to no cluster, so that no
// outage ends it. The processes that it has started continue when it ends.
package sandbox
