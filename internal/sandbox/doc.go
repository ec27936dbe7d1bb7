// SPDX-License-Identifier: Apache-2.0

// Package sandbox starts a host and members on this machine: real control planes with simulated nodes, without Docker and without root. The demo, the
// end-to-end tests and the benchmarks use it, and so does everyone who tries Fairlead out.
//
// Words:
//
//   - A *sandbox* has a name, a folder in the user's cache and one supervisor, a process that keeps the others running. Its
//     *clusters* are `host` and `member-1` to `member-N`.
//   - *Up* brings a sandbox to the state that the options describe, whatever exists already. It does not touch parts that work,
//     starts processes that do not run, and removes nothing.
//   - *Stop* ends a cluster's processes and keeps its state, as in an outage. *Down* removes the sandbox.
//   - To *publish* is to add the next version of the demo operator to the members' catalogs.
//
// Why it is so:
//
//   - All state is in one folder of the cache, sandboxes/NAME. So Down only has to end processes and remove this folder. That also works for a
//     sandbox that is incomplete or damaged, or that ran before a reboot.
//   - A stopped cluster has to get its own ports again. So Up chooses the ports once, outside the range from which the system
//     takes ports for outgoing connections.
//   - Two commands for one sandbox exclude each other by a file lock. The kernel releases the lock after a crash.
//
// A member's collector belongs to the member's processes and stops with them. So does the demo operator of a member, which runs as a process because pods
// are simulated. One further process watches the demo operator's Deployments on all members. It belongs to no cluster, so no outage
// ends it. The operators that it has started go on when it ends.
package sandbox
