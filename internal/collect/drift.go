// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// sight is what is known of one object at a moment.
type sight struct {
	state  kindState
	gvr    schema.GroupVersionResource
	record record
	found  bool
}

// see looks an object up in the records.
func (c *Collector) see(ref objectRef) sight {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.kinds[ref.GroupResource]
	if k == nil {
		return sight{}
	}
	s := sight{state: k.state, gvr: k.gvr}
	s.record, s.found = k.ledger.records[types.NamespacedName{Namespace: ref.namespace, Name: ref.name}]
	return s
}

// suspect compares what was recorded with what is there. It is "" where nothing is wrong.
func suspect(e *v1alpha1.InventoryEntry, s *sight) v1alpha1.DriftKind {
	r := &s.record
	switch {
	case !s.found:
		return v1alpha1.DriftGone
	case e.UID != "" && r.uid != e.UID:
		return v1alpha1.DriftReplaced
	case r.deleting:
		return "" // on its way out; gone is what it will be
	case e.Rendering != "" && r.rendering != e.Rendering:
		return v1alpha1.DriftChanged
	case e.Fields != "" && r.fields != e.Fields && r.lent != e.Fields:
		return v1alpha1.DriftChanged
	}
	return ""
}

// identity is what tells one drift from the next.
func identity(kind v1alpha1.DriftKind, e *v1alpha1.InventoryEntry, r *record) string {
	if kind == v1alpha1.DriftGone {
		return string(e.UID)
	}
	return r.resourceVersion
}

// drifted says what somebody did to an object, nil where nothing is to be seen. A suspicion that the
// status does not state yet is confirmed by reading the object; s is then what was read.
func (c *Collector) drifted(ctx context.Context, p *pass, e *v1alpha1.InventoryEntry, ref objectRef, s *sight) (*v1alpha1.Drift, error) {
	kind := suspect(e, s)
	if kind == "" {
		return nil, nil
	}
	if before := p.before[keyOf(e)]; before != nil && before.Drift != nil &&
		before.Drift.Kind == kind && before.Drift.ResourceVersion == identity(kind, e, &s.record) {
		return before.Drift, nil
	}
	return c.confirm(ctx, e, ref, s)
}

// confirm reads an object that is suspected of drift. That the watch says Deleted is no proof: it selects by
// our label, and says the very same of an object that lost it. Told that this one is gone, the host would
// find it there as somebody else's, and leave it.
func (c *Collector) confirm(ctx context.Context, e *v1alpha1.InventoryEntry, ref objectRef, s *sight) (*v1alpha1.Drift, error) {
	key := types.NamespacedName{Namespace: ref.namespace, Name: ref.name}
	if s.state == kindUnserved {
		return &v1alpha1.Drift{Kind: v1alpha1.DriftGone, ResourceVersion: string(e.UID)}, nil
	}
	obj, err := c.clients.readMetadata(ctx, s.gvr, ref.namespace, ref.name)
	if apierrors.IsNotFound(err) {
		suspected := s.record.uid
		c.amend(ref.GroupResource, func(l *ledger) { l.bury(key, suspected) })
		s.record, s.found = record{}, false
		return &v1alpha1.Drift{Kind: v1alpha1.DriftGone, ResourceVersion: string(e.UID)}, nil
	}
	if err != nil {
		return nil, err
	}
	s.record, s.found = recordOf(ref.GroupResource, obj), true
	c.amend(ref.GroupResource, func(l *ledger) { l.enter(key, s.record) })

	drift := &v1alpha1.Drift{Kind: suspect(e, s)}
	if drift.Kind == "" {
		return nil, nil
	}
	drift.ResourceVersion = identity(drift.Kind, e, &s.record)
	drift.Manager, drift.Fields = lastWriter(obj.ManagedFields)
	switch {
	case drift.Kind == v1alpha1.DriftReplaced:
		drift.Fields = nil // all of it is new
	case s.record.fields == e.Fields:
		// Ownership did not move, only the mark of the rendering differs: somebody wrote in our name.
		drift.Manager, drift.Fields = v1alpha1.FieldManager, nil
	}
	return drift, nil
}

// amend changes the records of one kind by what was read.
func (c *Collector) amend(gr schema.GroupResource, change func(*ledger)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k := c.kinds[gr]; k != nil {
		change(&k.ledger)
	}
}

// driftMessage says what happened, for people.
func driftMessage(e *v1alpha1.InventoryEntry, d *v1alpha1.Drift) string {
	by := ""
	if d.Manager != "" {
		by = " by " + d.Manager
	}
	switch d.Kind {
	case v1alpha1.DriftGone:
		return fmt.Sprintf("%s %s was deleted", e.Kind, e.Name)
	case v1alpha1.DriftReplaced:
		return fmt.Sprintf("%s %s was deleted, and another one made%s", e.Kind, e.Name, by)
	}
	message := fmt.Sprintf("%s %s was changed%s", e.Kind, e.Name, by)
	if len(d.Fields) > 0 {
		message += ": " + strings.Join(d.Fields[:min(len(d.Fields), 3)], ", ")
	}
	return message
}
