// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/internal/deliveries"
)

// Change describes a pass that uses the summary of the Delivery in the host's memory instead of reading the Delivery.
// The pass changes the content of objects that the Delivery lists. It neither adds nor drops an object.
type Change struct {
	// Work is what the pass does besides applying a new desired state.
	Work *Work
	// Objects are the objects that the pass is about to apply.
	Objects []ChangedObject
	// SaysKeep reports whether an object of the new rendering has the annotation federation.fairlead.dev/keep.
	SaysKeep bool
	// IsPaced reports whether the wrapper has a rollout, which changes the members one after another.
	IsPaced bool
}

// ChangedObject is one object of a Change.
type ChangedObject struct {
	ID ObjectID
	// UID is the uid that the Delivery records; "" when the host does not have it in memory.
	UID types.UID
	// GivesReplicas reports whether the pass may first have to apply spec.replicas under another field manager.
	GivesReplicas bool
}

// WhyIntent returns why the pass has to write its intent to the Delivery before it applies the first object. It returns
// "" if an interruption of the pass would lose nothing even without an intent. That is so if the Delivery lists each
// object with its uid all the time, and the collector reports each object whose content differs from the recorded one.
func (c *Change) WhyIntent() string {
	w := c.Work
	switch {
	case w.Recalled == nil:
		return "the Delivery has to be read"
	case !w.IsRecorded:
		return "the last pass did not record all its writes, or the manager does not know what it recorded"
	case w.Unrecorded.Any():
		return "an earlier pass applied objects that it could not record"
	case len(w.Drifted) > 0:
		return "objects are repaired"
	case c.SaysKeep:
		return "an object has the annotation keep, which decides whether a removal keeps the object"
	case c.IsPaced:
		return "the wrapper has a rollout: after a restart, the manager reads from the Delivery which revision the member is to have"
	case !w.IsObserved:
		return "the member has no ready collector that reports unrecorded objects"
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
		return "the manager does not have the uid of an object in memory"
	case o.ID.IsSecret():
		return "no collector reads Secrets"
	case o.ID == ObjectID{Kind: "Namespace", Name: o.ID.Name}:
		return "the manager reads a Namespace before each write"
	case o.GivesReplicas:
		return "an object may need two writes, because its replicas are applied first"
	case !recalled.IsObserved(o.ID.Group, o.ID.Kind, o.ID.Name):
		return "it is not certain that the collector watches an object"
	}
	return ""
}
