// SPDX-License-Identifier: Apache-2.0

// Package prune takes from a member what a wrapper has delivered there and does not want there any more.
//
// Words: a *removal* is an entry of a Delivery's inventory on its way out. *Retention* is what stays although its wrapper lets
// go of it: what holds data, what a claim's ownerReferences lead to, what was adopted, what the member has closed to the host.
// *Contents* are the objects that go with a Namespace or a CustomResourceDefinition when that is deleted.
//
// A deletion always names a uid: the one that was recorded or, where a pass died before it could record
// one, that of the object with our marks. One that somebody made anew under the same name is not ours to
// delete.
//
// Under KeepData a deletion also asks what would go with the object (retention.go, dependents.go): what a claim's
// ownerReferences lead to is left where it is.
package prune
