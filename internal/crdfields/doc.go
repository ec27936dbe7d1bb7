// SPDX-License-Identifier: Apache-2.0

// Package crdfields compares the schemas of two CustomResourceDefinitions: which fields of one does the other lack?
//
// An API server drops a field that the schema of its CRD lacks, and reports success. A member with older CRDs than the
// host's would so lose a part of what the host records there. The host therefore compares the member's CRDs with its
// own, and a join does not replace a CRD by one with fewer fields.
//
// The comparison is by fields and not by versions. So it is also right for a CRD that a person applied by hand, and for
// builds whose versions have no order.
package crdfields
