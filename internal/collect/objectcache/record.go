// SPDX-License-Identifier: Apache-2.0

package objectcache

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/marks"
	"github.com/fairlead-dev/fairlead/internal/boundedread"
	"github.com/fairlead-dev/fairlead/internal/collect/managedfields"
)

// Claims are the only objects in which another client may change a field that Fairlead owns without causing drift: a
// person or a controller may expand a claim.
var Claims = schema.GroupResource{Resource: "persistentvolumeclaims"}

// Record is the part of an object that the collector keeps.
type Record struct {
	UID             types.UID
	ResourceVersion string
	// Rendering is the value of the annotation AnnotationRendering; "" if the object does not have it.
	Rendering string
	// Fields is the digest of the set of fields that Fairlead owns in the object (marks.FieldsDigest).
	Fields string
	// Lent is the result of managedfields.LentDigest for a claim, which shows whether another client has only expanded the claim. It is ""
	// for an object of any other kind.
	Lent     string
	Deleting bool
	// Applied is the time at which our manager last applied the object: Unix time in seconds, by the member's clock. It is 0 if another
	// client has written or removed AnnotationRendering after that.
	Applied int64
}

// RecordOf makes the record of an object.
func RecordOf(gr schema.GroupResource, obj *metav1.PartialObjectMetadata) Record {
	r := Record{
		UID:             obj.UID,
		ResourceVersion: obj.ResourceVersion,
		Rendering:       obj.Annotations[v1alpha1.AnnotationRendering],
		Fields:          marks.FieldsDigest(obj.ManagedFields),
		Deleting:        obj.DeletionTimestamp != nil,
		Applied:         managedfields.RenderingApplied(obj.ManagedFields),
	}
	if gr == Claims {
		r.Lent = managedfields.LentDigest(obj.ManagedFields)
	}
	return r
}

// Trimmed is an object that arrives from the member, reduced to its key, its resourceVersion and its record.
type Trimmed struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Record Record
}

var _ boundedread.Weighed = &Trimmed{}

// DeepCopyObject implements runtime.Object. It shares the record, which never changes.
func (t *Trimmed) DeepCopyObject() runtime.Object {
	return &Trimmed{TypeMeta: t.TypeMeta, ObjectMeta: *t.ObjectMeta.DeepCopy(), Record: t.Record}
}

// Weight implements boundedread.Weighed.
func (t *Trimmed) Weight() int64 {
	r := &t.Record
	return int64(len(t.Namespace) + len(t.Name) + len(r.UID) + len(r.ResourceVersion) + len(r.Rendering))
}

// Key returns the namespace and name of the object.
func (t *Trimmed) Key() types.NamespacedName {
	return types.NamespacedName{Namespace: t.Namespace, Name: t.Name}
}

// TrimOf returns a function that reduces each object of one resource to a Trimmed, so that the collector does not hold
// the metadata of a long list in memory.
func TrimOf(gr schema.GroupResource) func(any) (any, error) {
	return func(in any) (any, error) {
		obj, ok := in.(*metav1.PartialObjectMetadata)
		if !ok {
			return nil, fmt.Errorf("trimming an object of %s: unexpected type %T", gr, in)
		}
		return &Trimmed{
			ObjectMeta: metav1.ObjectMeta{Namespace: obj.Namespace, Name: obj.Name, ResourceVersion: obj.ResourceVersion},
			Record:     RecordOf(gr, obj),
		}, nil
	}
}
