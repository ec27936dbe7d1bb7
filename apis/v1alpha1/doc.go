// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 is the API of Fairlead: the objects that people write at the host, and the records that host and
// collector write on a member.
//
// At the host, a wrapper holds the objects and selects the members that get them. A Federated holds namespaced objects, a
// ClusterFederated cluster-scoped ones. A MemberCluster describes one member. On a member, a Delivery is the record of one
// wrapper. Its spec lists what the host intends, has applied and still has to remove; the host writes it. Its status is the
// health of the objects; the collector writes it. The Membership, one for each member, names the host that owns the member.
//
// Why it is so: there is never a second kind for a wrapped kind. Otherwise each new CRD would need a federated twin,
// and a fleet would fall behind its members. There are two wrapper kinds, because the scope of an object is a security
// boundary. A person who can write in one namespace of the host must not change cluster-scoped objects on a member.
// State is stored beside the objects: the host stores M wrappers and N members, and no object for each of the M×N
// pairs.
//
// The package holds types, constants and accessors only; it never talks to a cluster.
//
// +kubebuilder:object:generate=true
// +groupName=federation.fairlead.dev
package v1alpha1
