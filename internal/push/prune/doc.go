// SPDX-License-Identifier: Apache-2.0

// Package prune removes objects from a member that a wrapper has delivered there and dropped since.
//
// Words: a *removal* is an entry of a Delivery's inventory whose object is being removed. *Retention* is the rule for
// objects that stay although their wrapper drops them. They hold data, or a claim's ownerReferences lead to them, or
// they were adopted, or the member has closed them to the host. *Contents* are the objects that are deleted with their
// Namespace or CustomResourceDefinition.
//
// A deletion always names a uid. It is the recorded uid; if a pass died before it recorded one, it is the uid of the
// object with Fairlead's marks. If another client made a new object under the same name, the manager must not delete
// that.
//
// Under KeepData the manager also checks which objects a deletion would delete with the object (claimowners.go,
// dependents.go). An object that a claim's ownerReferences lead to stays.
package prune
