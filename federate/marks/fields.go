// SPDX-License-Identifier: Apache-2.0

package marks

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/digest"
)

// FieldsDigest returns a digest of the set of fields that Fairlead owns in an object; "" if it owns none. The digest
// covers the fieldsV1 of Fairlead's managedFields entry, but not the entry's time. The digest changes when another
// client writes one of these fields, because that client then owns the field. The manager's next apply takes the field
// back, and the digest has its earlier value again.
func FieldsDigest(entries []metav1.ManagedFieldsEntry) string {
	entry := Fields(entries)
	if entry == nil {
		return ""
	}
	return digest.Of(entry.GetRawBytes())
}

// Fields returns the set of fields that Fairlead owns in an object; nil if it owns none.
func Fields(entries []metav1.ManagedFieldsEntry) *metav1.FieldsV1 {
	for i := range entries {
		e := &entries[i]
		if e.Manager == v1alpha1.FieldManager && e.Operation == metav1.ManagedFieldsOperationApply &&
			e.Subresource == "" && e.FieldsV1 != nil {
			return e.FieldsV1
		}
	}
	return nil
}
