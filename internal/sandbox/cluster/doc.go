// SPDX-License-Identifier: Apache-2.0

// Package cluster is one Kubernetes control plane made of processes on loopback: etcd, API server, controller manager,
// scheduler, and KWOK in place of kubelets. It writes files, says which processes should run and puts the first objects
// in; who runs the processes is not its business.
//
// Words. *Real* is everything that stores, checks, schedules and controls objects. *Simulated* is what would need a
// machine: nodes, running pods, volumes. Simulated storage has the provisioner Provisioner: claims of classes with that
// provisioner get a volume; claims of any other wait for theirs, as in life.
//
// Why it is so. The claim-to-volume way is the one of a real external provisioner: Kubernetes' own controller marks the
// claim with the provisioner of its class, a KWOK Stage creates the volume with a reference to the claim, and Kubernetes
// binds the two; so a claim that waits for its first consumer waits here too, and nothing needs to know classes by name.
// A Stage does not see the class, so volumes here are always reclaimed by deletion. Every cluster has an
// authority of its own, as clusters of different clouds have, so that a credential for one is worth nothing at
// another. etcd takes one client certificate, which only the owner of the sandbox's files can read: others with an account on
// this machine reach the ports and get nothing.
package cluster
