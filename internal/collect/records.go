// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/marks"
)

// record is all that is held of an object.
type record struct {
	uid             types.UID
	resourceVersion string
	rendering       string
	// fields is the digest of our managedFields entry.
	fields string
	// lent is that digest as it would be if the request of a claim were still ours; of claims only.
	lent     string
	deleting bool
}

// ledger holds the records of one kind. It is guarded by the Collector's lock.
type ledger struct {
	records map[types.NamespacedName]record
	// gone are uids that were read to be gone. A uid does not come back, so a late event of one is
	// not news.
	gone map[types.NamespacedName]types.UID
}

func newLedger() ledger {
	return ledger{records: map[types.NamespacedName]record{}, gone: map[types.NamespacedName]types.UID{}}
}

// enter takes a record unless a newer one is there, and says whether it did.
func (l *ledger) enter(key types.NamespacedName, r record) bool {
	if uid, ok := l.gone[key]; ok {
		if uid == r.uid {
			return false
		}
		delete(l.gone, key)
	}
	if old, ok := l.records[key]; ok && !newer(r.resourceVersion, old.resourceVersion) {
		return false
	}
	l.records[key] = r
	return true
}

// strike takes a record out unless the object was seen after its deletion.
func (l *ledger) strike(key types.NamespacedName, resourceVersion string) bool {
	delete(l.gone, key)
	old, ok := l.records[key]
	if !ok || newer(old.resourceVersion, resourceVersion) {
		return false
	}
	delete(l.records, key)
	return true
}

// bury takes out what was read to be gone, and not another one of its name that arrived meanwhile.
func (l *ledger) bury(key types.NamespacedName, uid types.UID) {
	if old, ok := l.records[key]; ok && old.uid == uid {
		l.gone[key] = uid
		delete(l.records, key)
	}
}

// replace takes a whole list as of a resourceVersion; what was read after that stays.
func (l *ledger) replace(list map[types.NamespacedName]record, resourceVersion string) {
	for key, old := range l.records {
		listed, ok := list[key]
		switch {
		case ok && newer(old.resourceVersion, listed.resourceVersion):
			list[key] = old
		case !ok && newer(old.resourceVersion, resourceVersion):
			list[key] = old
		}
	}
	l.records = list
	l.gone = map[types.NamespacedName]types.UID{}
}

// newer says whether resourceVersion a is after b. Those that cannot be compared count as newer: better
// one judgement too many than one too few.
func newer(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err != nil || order > 0
}

// recordOf cuts an object down.
func recordOf(gr schema.GroupResource, obj *metav1.PartialObjectMetadata) record {
	r := record{
		uid:             obj.UID,
		resourceVersion: obj.ResourceVersion,
		rendering:       obj.Annotations[v1alpha1.AnnotationRendering],
		fields:          marks.FieldsDigest(obj.ManagedFields),
		deleting:        obj.DeletionTimestamp != nil,
	}
	if gr == claims {
		r.lent = lentDigest(obj.ManagedFields)
	}
	return r
}

// arrival is an object on its way from the wire to the records: its name and its record.
type arrival struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	record record
}

// DeepCopyObject implements runtime.Object. A record never changes.
func (a *arrival) DeepCopyObject() runtime.Object {
	return &arrival{TypeMeta: a.TypeMeta, ObjectMeta: *a.ObjectMeta.DeepCopy(), record: a.record}
}

// Weight implements boundedread.Weighed.
func (a *arrival) Weight() int64 {
	r := &a.record
	return int64(len(a.Namespace) + len(a.Name) + len(r.uid) + len(r.resourceVersion) + len(r.rendering))
}

func (a *arrival) key() types.NamespacedName {
	return types.NamespacedName{Namespace: a.Namespace, Name: a.Name}
}

// trimTo makes arrivals of objects of one kind, so that not even a long list is held with its payload.
func trimTo(gr schema.GroupResource) func(any) (any, error) {
	return func(in any) (any, error) {
		obj, ok := in.(*metav1.PartialObjectMetadata)
		if !ok {
			return nil, fmt.Errorf("trimming %s: got a %T", gr, in)
		}
		return &arrival{
			ObjectMeta: metav1.ObjectMeta{Namespace: obj.Namespace, Name: obj.Name, ResourceVersion: obj.ResourceVersion},
			record:     recordOf(gr, obj),
		}, nil
	}
}
