// SPDX-License-Identifier: Apache-2.0

// Package cluster is one Kubernetes control plane made of processes on loopback: etcd, API server, controller manager,
// scheduler, and KWOK in place of kubelets. It writes their files, describes the processes and creates the first objects. The caller
// runs the processes.
//
// Words. *Real* is everything that stores, checks, schedules and controls objects. *Simulated* is everything that would need a
// machine: nodes, running pods, volumes. Claims of a StorageClass with the provisioner Provisioner get a simulated volume. Claims
// of other classes wait, as they would on a cluster without that provisioner.
//
// Why it is so. Provisioning works as with a real external provisioner. Kubernetes' own controller marks the claim with the
// provisioner of its class, a KWOK Stage creates the volume with a reference to the claim, and Kubernetes binds the two. So a
// claim that waits for its first consumer waits here too, and no class is known by name. A Stage does not see the class, so the
// reclaim policy of volumes is always Delete. Every cluster has a certificate authority of its own, like clusters of different
// clouds, so that a credential for one cluster is useless at another. etcd accepts one client certificate, and only the owner of
// the sandbox's files can read it: other accounts on this machine reach the ports but no data.
package cluster
