// SPDX-License-Identifier: Apache-2.0

// Package drift finds out whether an object on the member is still as the manager applied it. It compares the entry of a Delivery
// with the cached record of the object. A Finder confirms a difference by a read before the collector reports it.
//
// Words: *drift* is a pushed object that is gone, replaced, or changed in a field that Fairlead owns. A drift has an *identity*, so that
// the collector reads the object once for each drift and not at each pass. An object is *unrecorded* if its last writer is our manager and
// the Delivery does not record that apply. A push is *unfinished* if an object is still unrecorded after UnfinishedAfter.
package drift
