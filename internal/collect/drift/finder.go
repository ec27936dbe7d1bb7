// SPDX-License-Identifier: Apache-2.0

package drift

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/collect/deliveryindex"
	"github.com/fairlead-dev/fairlead/internal/collect/managedfields"
	"github.com/fairlead-dev/fairlead/internal/collect/memberclient"
	"github.com/fairlead-dev/fairlead/internal/collect/objectcache"
)

// Finder compares the entries of Deliveries with the objects on the member.
type Finder struct {
	client *memberclient.Client
	cache  *objectcache.Cache
}

// NewFinder makes a Finder.
func NewFinder(client *memberclient.Client, cache *objectcache.Cache) *Finder {
	return &Finder{client: client, cache: cache}
}

// Find returns the drift of an object; nil if it has none. e is the object's entry in the Delivery. before is the object's line in the
// present status, or nil. If before does not report this drift yet, Find reads the object to confirm the drift, and stores the result of
// the read in s.
func (f *Finder) Find(
	ctx context.Context, before *v1alpha1.ObjectStatus, e *v1alpha1.InventoryEntry, ref deliveryindex.Ref, s *objectcache.Sighting,
) (*v1alpha1.Drift, error) {
	kind := suspect(e, s)
	if kind == "" {
		return nil, nil
	}
	if before != nil && before.Drift != nil &&
		before.Drift.Kind == kind && before.Drift.ResourceVersion == identity(kind, e, &s.Record) {
		return before.Drift, nil
	}
	return f.confirm(ctx, e, ref, s)
}

// confirm reads an object that may have drifted. A Deleted event of the watch does not prove a deletion: the watch
// selects by our label, so an object that lost the label causes the same event. If the collector reported such an
// object as gone, the host would find the object without its marks, and would not repair it.
func (f *Finder) confirm(ctx context.Context, e *v1alpha1.InventoryEntry, ref deliveryindex.Ref, s *objectcache.Sighting) (*v1alpha1.Drift, error) {
	if s.State == objectcache.Unserved {
		return &v1alpha1.Drift{Kind: v1alpha1.DriftGone, ResourceVersion: string(e.UID)}, nil
	}
	obj, err := f.client.ReadMetadata(ctx, s.GVR, ref.Namespace, ref.Name)
	if apierrors.IsNotFound(err) {
		f.cache.DropGone(ref, s.Record.UID)
		s.Record, s.Found = objectcache.Record{}, false
		return &v1alpha1.Drift{Kind: v1alpha1.DriftGone, ResourceVersion: string(e.UID)}, nil
	}
	if err != nil {
		return nil, err
	}
	s.Record, s.Found = objectcache.RecordOf(ref.GroupResource, obj), true
	f.cache.Put(ref, s.Record)

	drift := &v1alpha1.Drift{Kind: suspect(e, s)}
	if drift.Kind == "" {
		return nil, nil
	}
	drift.ResourceVersion = identity(drift.Kind, e, &s.Record)
	drift.Manager, drift.Fields = managedfields.LastWriter(obj.ManagedFields)
	switch {
	case drift.Kind == v1alpha1.DriftReplaced:
		drift.Fields = nil // every field is new
	case s.Record.Fields == e.Fields, IsUnrecorded(e, s):
		// Our managedFields entry is unchanged; only the digest of the rendering differs. So our manager wrote the
		// object, or another client used our field manager.
		drift.Manager, drift.Fields = v1alpha1.FieldManager, nil
	}
	return drift, nil
}
