// SPDX-License-Identifier: Apache-2.0

// Package cluster describes one Kubernetes control plane, made of processes on loopback: etcd, API server, controller manager, scheduler, and KWOK in
// place of kubelets. It writes the files of the processes, and creates the first objects. The caller runs the processes.
//
// Words. What stores, checks, schedules and controls objects is *real*. What would need a machine is *simulated*: nodes, running pods, volumes. A claim
// gets a simulated volume if its StorageClass has the provisioner Provisioner. A claim of another class waits, as on a cluster that
// does not have that class's provisioner.
//
// Why it is so:
//
//   - Provisioning works as with a real external provisioner. Kubernetes' own controller marks the claim with the provisioner of its class. A
//     KWOK Stage then creates the volume with a reference to the claim, and Kubernetes binds the two. So a claim whose class has
//     WaitForFirstConsumer waits here too, and no file lists the classes by name. A Stage cannot read the class, so the
//     reclaim policy of volumes is always Delete.
//   - Every cluster has a certificate authority of its own, as clusters of different clouds do. So a cluster refuses the
//     credentials of another.
//   - etcd accepts one client certificate only, which only the owner of the sandbox's files can read. Other accounts on this
//     machine reach etcd's port, but no data.
package cluster
