// SPDX-License-Identifier: Apache-2.0

// Package prune removes from a member the objects that a wrapper delivered there and that are no longer desired.
//
// Words: a *removal* is an entry of a Delivery's inventory whose object is to be removed. The *marks* are the label and
// the annotations that Fairlead sets on every object that it pushes. A *claim* is a PersistentVolumeClaim. To *keep* an
// object means to leave it on the member with its marks. To *release* an object means to leave it there without them.
//
// Not every removal deletes the object. An object stays in these cases:
//
//   - The wrapper's onDelete, or the annotation keep, says so.
//   - The object holds data, or deleting it would delete a claim (claimowners.go, dependents.go).
//   - Fairlead adopted the object from another client.
//   - The object is Fairlead's own, or a system namespace, or a Namespace that the member has closed to the host.
//   - The object is a Namespace or a CRD, and deleting it would delete objects of other clients (othersobjects.go).
//
// A deletion always names a uid, so that the manager never deletes a new object that another client created under the
// same name. The manager takes the uid from the Delivery. If a pass ended before it recorded the uid, the manager takes
// the uid of the object with Fairlead's marks.
package prune
