// SPDX-License-Identifier: Apache-2.0

// Command bench measures what Fairlead costs, on real control planes: `make bench`.
//
// Words: a *work* is one thing that a federation has to do (W1: deliver a thousand objects to three members). The *bed* is
// the sandbox that it is done on, with etcd syncing to the disk and an audit log on every cluster. A *reading* is what a work
// cost: CPU seconds and peak RSS of Fairlead's processes as the kernel counts them, requests as the API servers' audit logs
// tell them (Fairlead's own users only), objects as the API servers list them. A *goal* is what a figure must reach, beside
// what KubeFed and Karmada needed for the same on such a machine.
//
// Why it is so: figures that a program takes of itself leave out what it does not know of. So nothing here asks Fairlead
// what it did. Seconds depend on the machine and are never asserted; counts do not, and test/e2e holds small ones of them.
package main
