// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/internal/deliveries"
)

// Change describes a pass that has not read the Delivery. The pass changes objects that the Delivery lists, and adds and drops
// none.
type Change struct {
	// Work is the work of the pass.
	Work *Work
	// Objects are the objects that it is about to apply.
	Objects []ChangedObject
	// SaysKeep reports whether an object of the new rendering has the annotation keep.
	SaysKeep bool
	// IsPaced reports whether a rollout paces the wrapper.
	IsPaced bool
}

// ChangedObject is one object of a Change.
type ChangedObject struct {
	ID ObjectID
	// UID is the recorded uid; "" when the host does not remember it.
	UID types.UID
	// GivesReplicas reports whether the pass may have to write the object's replicas before the apply.
	GivesReplicas bool
}

// WhyIntent returns the reason why the pass has to write its intent before the first object. It returns "" if an interrupted pass
// without an intent would lose nothing: the Delivery lists each object by its uid before and after the pass, and the collector
// reports each object whose content the Delivery does not record.
func (c *Change) WhyIntent() string {
	w := c.Work
	switch {
	case w.Recalled == nil:
		return "the Delivery has to be read"
	case !w.IsRecorded:
		return "the last pass did not record all that it did, or is not known"
	case w.Unrecorded.Any():
		return "an earlier pass applied objects that it could not record"
	case len(w.Drifted) > 0:
		return "objects are repaired"
	case c.SaysKeep:
		return "an object has the annotation keep, by which a removal decides"
	case c.IsPaced:
		return "after a restart the rollout reads the target of the member in the Delivery"
	case !w.IsObserved:
		return "no collector that reports unrecorded objects observes the member"
	}
	for i := range c.Objects {
		if why := c.Objects[i].whyIntent(w.Recalled); why != "" {
			return why
		}
	}
	return ""
}

func (o *ChangedObject) whyIntent(recalled *deliveries.Summary) string {
	switch {
	case o.UID == "":
		return "the uid of an object is not known"
	case o.ID.IsSecret():
		return "no collector reads Secrets"
	case o.ID == ObjectID{Kind: "Namespace", Name: o.ID.Name}:
		return "a Namespace is read before each write"
	case o.GivesReplicas:
		return "an object takes more than one write"
	case !recalled.IsObserved(o.ID.Group, o.ID.Kind, o.ID.Name):
		return "the collector may not watch an object"
	}
	return ""
}
