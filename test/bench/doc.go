// SPDX-License-Identifier: Apache-2.0

// Command bench measures what Fairlead costs, on real control planes: `make bench`.
//
// Words:
//
//   - A *federation* is Fairlead or a *peer*: another program that does some of the same works (PEER=kubefed). The bench
//     measures the peer after Fairlead, in the same run and on a sandbox of the same kind.
//   - A *work* is one task of a federation, for example W1: deliver a thousand objects to three members.
//   - The *bed* is the sandbox on which the works run. Its etcds sync to disk, and each cluster has an audit log.
//   - A *reading* is the cost of one work: CPU seconds and peak RSS of the federation's processes from the kernel,
//     requests from the audit logs, and objects from the API servers.
//   - A *goal* is the limit for one figure of a reading.
//   - A *trial* is a run with fewer objects.
//
// Each work has a file of its own, so there are more files than in other packages.
//
// The bench does not ask Fairlead for figures: a program that measures itself misses the costs that it does not know of. Seconds
// depend on the machine, so no test asserts them. Counts do not depend on the machine, and test/e2e asserts the counts of
// small works. The tables compare only figures of the same run, never those of another machine or day.
package main
