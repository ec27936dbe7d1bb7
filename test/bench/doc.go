// SPDX-License-Identifier: Apache-2.0

// Command bench measures what Fairlead costs, on real control planes: `make bench`.
//
// Words: a *work* is one task of a federation (W1: deliver a thousand objects to three members). The *bed* is the
// sandbox on which it is measured, with etcd syncing to disk and an audit log on every cluster. A *reading* is the cost
// of a work. It has CPU seconds and peak RSS of Fairlead's processes from the kernel, requests of Fairlead's users from
// the audit logs, and objects from the API servers. A *goal* is the limit for a figure. A *peer* is another federation
// that does some of the works on a sandbox of the same kind, after Fairlead and in the same run (PEER=kubefed). A
// *federation* is Fairlead or a peer. A *trial* is a run with fewer objects.
//
// Each work has a file of its own, so there are more files than in other packages.
//
// Why it is so: a program that measures itself misses the costs that it does not know of. So the bench asks Fairlead
// nothing about its work. Seconds depend on the machine and are never asserted. Counts do not, and test/e2e asserts
// small ones of them. For the same reason no figure of another machine or day is in the tables: a peer is measured
// beside Fairlead or not at all.
package main
