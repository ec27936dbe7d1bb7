// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/collect/deliveryindex"
	"github.com/fairlead-dev/fairlead/internal/collect/managedfields"
	"github.com/fairlead-dev/fairlead/internal/collect/memberclient"
	"github.com/fairlead-dev/fairlead/internal/collect/objectcache"
)

// driftFinder compares the entries of Deliveries with the objects on the member.
type driftFinder struct {
	client *memberclient.Client
	cache  *objectcache.Cache
}

// suspect compares an entry with the cached record of its object. It returns the kind of drift; "" if the entry and the
// record agree.
func suspect(e *v1alpha1.InventoryEntry, s *objectcache.Sighting) v1alpha1.DriftKind {
	r := &s.Record
	switch {
	case !s.Found:
		return v1alpha1.DriftGone
	case e.UID != "" && r.UID != e.UID:
		return v1alpha1.DriftReplaced
	case r.Deleting:
		return "" // an object that is being deleted has not drifted until it is gone
	case e.Rendering != "" && r.Rendering != e.Rendering:
		return v1alpha1.DriftChanged
	case e.Fields != "" && r.Fields != e.Fields && r.Lent != e.Fields:
		return v1alpha1.DriftChanged
	}
	return ""
}

// identity returns a text that identifies one drift of an object. A later drift of the same object has another text.
func identity(kind v1alpha1.DriftKind, e *v1alpha1.InventoryEntry, r *objectcache.Record) string {
	if kind == v1alpha1.DriftGone {
		return string(e.UID)
	}
	return r.ResourceVersion
}

// find returns the drift of an object; nil if it has none. If the status does not report this drift yet, find reads the
// object to confirm the drift, and stores what it read in s.
func (f *driftFinder) find(ctx context.Context, p *pass, e *v1alpha1.InventoryEntry, ref deliveryindex.Ref, s *objectcache.Sighting) (*v1alpha1.Drift, error) {
	kind := suspect(e, s)
	if kind == "" {
		return nil, nil
	}
	if before := p.before[keyOf(e)]; before != nil && before.Drift != nil &&
		before.Drift.Kind == kind && before.Drift.ResourceVersion == identity(kind, e, &s.Record) {
		return before.Drift, nil
	}
	return f.confirm(ctx, e, ref, s)
}

// confirm reads an object that may have drifted. A Deleted event of the watch does not prove a deletion: the watch
// selects by our label, so an object that lost the label causes the same event. If the collector reported such an
// object as gone, the host would find the object without its marks, and would not repair it.
func (f *driftFinder) confirm(ctx context.Context, e *v1alpha1.InventoryEntry, ref deliveryindex.Ref, s *objectcache.Sighting) (*v1alpha1.Drift, error) {
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
	case s.Record.Fields == e.Fields, isUnrecorded(e, s):
		// Our managedFields entry is unchanged; only the digest of the rendering differs. So our manager wrote the
		// object, or another client used our field manager.
		drift.Manager, drift.Fields = v1alpha1.FieldManager, nil
	}
	return drift, nil
}

// driftMessage is the message of a line about a healthy object that has drifted.
func driftMessage(e *v1alpha1.InventoryEntry, d *v1alpha1.Drift) string {
	by := ""
	if d.Manager != "" {
		by = " by " + d.Manager
	}
	switch d.Kind {
	case v1alpha1.DriftGone:
		return fmt.Sprintf("%s %s was deleted", e.Kind, e.Name)
	case v1alpha1.DriftReplaced:
		return fmt.Sprintf("%s %s was deleted, and another object of that name was created%s", e.Kind, e.Name, by)
	}
	message := fmt.Sprintf("%s %s was changed%s", e.Kind, e.Name, by)
	if len(d.Fields) > 0 {
		message += ": " + strings.Join(d.Fields[:min(len(d.Fields), 3)], ", ")
	}
	return message
}
