// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 is the API of Fairlead: what a person writes at the host, and what host and
// collector write down on a member.
//
// At the host, a wrapper (a Federated for namespaced objects, a ClusterFederated for cluster-scoped
// ones) says which objects are to stand on which members, and a MemberCluster says who the members
// are. On a member, a Delivery is the receipt of one wrapper: what the host intends, has applied and
// still has to remove (spec, written by the host), and how it fares (status, written by the
// collector). The Membership, one for each member, says whose member it is.
//
// Why it is so: there is never a second kind for a wrapped kind, because a fleet in which each new
// CRD needs a federated twin falls behind its members. There are two wrapper kinds, because the
// scope of an object is a security boundary: who may write in a namespace of the host must not reach
// what is above namespaces on a member. State lives where the objects live: the host stores its M
// wrappers and N members, never M×N works.
//
// The package holds types, constants and accessors only; it never talks to a cluster.
//
// +kubebuilder:object:generate=true
// +groupName=federation.fairlead.dev
package v1alpha1
