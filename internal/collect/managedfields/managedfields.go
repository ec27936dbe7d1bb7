// SPDX-License-Identifier: Apache-2.0

package managedfields

import (
	"bytes"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/digest"
	"github.com/fairlead-dev/fairlead/federate/health"
	"github.com/fairlead-dev/fairlead/federate/marks"
)

// Limits on what the collector reads of an object's managedFields, and on what it reports. A member can send more.
const (
	// maxFieldsRaw is the largest entry whose fields the collector reads, in bytes.
	maxFieldsRaw = 256 << 10
	// maxFields is how many fields the collector reports at most.
	maxFields = 16
	// maxFieldPath is the largest length of the path of one field, in bytes.
	maxFieldPath = 256
	// maxManagerName is the largest length of the name of a field manager, in bytes.
	maxManagerName = 128
)

var claimRequest = fieldpath.MakePathOrDie("spec", "resources", "requests", "storage")

// LentDigest tells whether another client has expanded a claim, and changed no other field that Fairlead owns. Such a
// client now owns the storage request of the claim. LentDigest returns the digest that Fairlead's managedFields entry
// would have if Fairlead still owned the storage request. If this is the digest in the Delivery, the claim was only
// expanded.
//
// It returns "" if Fairlead still owns the storage request, or if Fairlead's entry is missing or unreadable.
func LentDigest(entries []metav1.ManagedFieldsEntry) string {
	ours := marks.Fields(entries)
	if ours == nil {
		return ""
	}
	set, ok := fieldSet(ours)
	if !ok || set.Has(claimRequest) {
		return ""
	}
	set.Insert(claimRequest)
	raw, err := set.ToJSON()
	if err != nil {
		return ""
	}
	return digest.Of(raw)
}

// renderingField is how AnnotationRendering appears in the JSON of a managedFields entry.
var renderingField = []byte(`"f:` + v1alpha1.AnnotationRendering + `"`)

// RenderingApplied returns when our manager last applied an object, as Unix time in seconds. It returns 0 if Fairlead's
// managedFields entry does not own AnnotationRendering, because another client has written or removed the annotation.
func RenderingApplied(entries []metav1.ManagedFieldsEntry) int64 {
	for i := range entries {
		e := &entries[i]
		if isOurs(e) && e.Time != nil && e.FieldsV1 != nil && bytes.Contains(e.FieldsV1.GetRawBytes(), renderingField) {
			return e.Time.Unix()
		}
	}
	return 0
}

// LastWriter returns the field manager, other than Fairlead, that wrote an object last according to managedFields. It
// ignores entries of the status subresource, and entries that are older than Fairlead's. fields are the paths of the
// fields that this field manager owns, like .spec.replicas, at most maxFields. Both results are empty if no entry is
// left.
func LastWriter(entries []metav1.ManagedFieldsEntry) (manager string, fields []string) {
	var since, newest *metav1.Time
	for i := range entries {
		if e := &entries[i]; isOurs(e) {
			since = e.Time
		}
	}
	var found *metav1.ManagedFieldsEntry
	for i := range entries {
		e := &entries[i]
		if isOurs(e) || e.Subresource == "status" || e.Time == nil || e.Manager == "" {
			continue
		}
		if since != nil && e.Time.Before(since) {
			continue
		}
		if newest == nil || newest.Before(e.Time) {
			newest, found = e.Time, e
		}
	}
	if found == nil {
		return "", nil
	}
	return health.Clean(found.Manager, maxManagerName), leafPaths(found.FieldsV1)
}

func isOurs(e *metav1.ManagedFieldsEntry) bool {
	return e.Manager == v1alpha1.FieldManager && e.Operation == metav1.ManagedFieldsOperationApply && e.Subresource == ""
}

// leafPaths returns the paths of the fields in a managedFields entry that have no subfields, at most maxFields.
func leafPaths(raw *metav1.FieldsV1) []string {
	if raw == nil {
		return nil
	}
	set, ok := fieldSet(raw)
	if !ok {
		return nil
	}
	var paths []string
	set.Leaves().Iterate(func(p fieldpath.Path) {
		if len(paths) == maxFields {
			return
		}
		if text := pathText(p); text != "" {
			paths = append(paths, text)
		}
	})
	return paths
}

// pathText returns a path in the form .spec.replicas; "" if it is the path of one of Fairlead's own labels or
// annotations.
func pathText(p fieldpath.Path) string {
	text := p.String()
	if strings.Contains(text, v1alpha1.Group+"/") && strings.HasPrefix(text, ".metadata.") {
		return ""
	}
	return health.Clean(text, maxFieldPath)
}

func fieldSet(raw *metav1.FieldsV1) (*fieldpath.Set, bool) {
	if len(raw.GetRawString()) > maxFieldsRaw {
		return nil, false
	}
	set := &fieldpath.Set{}
	if err := set.FromJSON(raw.GetRawReader()); err != nil {
		return nil, false
	}
	return set, true
}
