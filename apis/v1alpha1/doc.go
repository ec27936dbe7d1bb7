// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 is the API of Fairlead: the objects that people write on the host, and the records that the manager
// and the collector write on a member.
//
// On the host, a wrapper holds objects and selects the members that get them. A Federated holds namespaced objects, a
// ClusterFederated cluster-scoped ones. A MemberCluster describes one member. An Approval is the decision of a person
// about one wrapper. A MemberReport has evidence from members about one object.
//
// On a member, a Delivery is the record of one wrapper. The manager writes the spec of the Delivery: what the host
// intends, what the manager has applied, and what it still has to remove. The collector writes the status: the health
// and the drift of the objects. Each member has one Membership, which names the host that owns the member.
//
// Why it is so:
//
//   - A wrapper can hold any kind, so no CRD needs a second, federated CRD. A federated CRD would have to be written
//     for each new CRD, and the host would always lack some of the kinds that its members have.
//   - There are two kinds of wrapper, because the scope of an object is a security boundary. A person who can write in
//     one namespace of the host must not be able to change cluster-scoped objects on a member.
//   - The host stores an object for each wrapper and an object for each member, and none for each pair of a wrapper and
//     a member: there can be millions of such pairs. The record of a pair is on the member, beside the objects.
//
// The package has types, constants and accessors only. It never talks to a cluster.
//
// It has more files than other packages: a version of an API is one package, and each kind, each larger part of a spec and each larger
// part of a status has a file of its own.
//
// +kubebuilder:object:generate=true
// +groupName=federation.fairlead.dev
package v1alpha1
