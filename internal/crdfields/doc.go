// SPDX-License-Identifier: Apache-2.0

// Package crdfields compares the schemas of two CustomResourceDefinitions, and returns the fields of one that the other
// lacks.
//
// An API server drops a field that the schema of a CRD lacks, and reports success. So if a member's CRDs were older
// than the host's, the member would lose fields that the host writes, without an error. To prevent that, the host
// compares the member's CRDs with its own, and `hostctl join` does not replace a CRD by one with fewer fields.
//
// The package compares fields and not versions. So it is also right for a CRD that a person applied by hand, and for
// builds whose versions have no order.
package crdfields
