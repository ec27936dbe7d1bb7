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

// Bounds on the parts of managedFields that the collector reads and reports, because they come from the member.
const (
	maxFieldsRaw   = 256 << 10
	maxFields      = 16
	maxFieldPath   = 256
	maxManagerName = 128
)

var claimRequest = fieldpath.MakePathOrDie("spec", "resources", "requests", "storage")

// LentDigest is the digest of our managedFields entry of a claim, computed as if we still owned the storage request. If
// it equals the recorded digest, the claim was expanded on the member and nothing else was changed.
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

// renderingField is the path of AnnotationRendering in managedFields.
var renderingField = []byte(`"f:` + v1alpha1.AnnotationRendering + `"`)

// RenderingApplied is when our manager last applied an object, as Unix time. It is 0 if our managedFields entry does
// not own AnnotationRendering. The API server moves the ownership when another client writes or removes the annotation.
func RenderingApplied(entries []metav1.ManagedFieldsEntry) int64 {
	for i := range entries {
		e := &entries[i]
		if isOurs(e) && e.Time != nil && e.FieldsV1 != nil && bytes.Contains(e.FieldsV1.GetRawBytes(), renderingField) {
			return e.Time.Unix()
		}
	}
	return 0
}

// LastWriter is the field manager that wrote an object last after us, as managedFields record it. It skips our entry,
// entries of the status subresource, and entries older than ours, and takes the newest of the rest. fields are the
// fields of that entry, as paths like .spec.replicas, sorted and bounded. Both are empty if there is no such entry.
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

// leafPaths returns the deepest paths of a set of fields, at most maxFields of them.
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

// pathText writes a path in the form .spec.replicas. It returns "" for the marks that Fairlead itself puts on an
// object.
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
