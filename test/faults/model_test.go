// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// desiredState is what a user wants of one wrapper: objects (name to content) on members. A nil *desiredState means that the
// user deletes the wrapper web.
type desiredState struct {
	objects map[string]string
	members []string
	// wrapper is the name of the wrapper; "" means "web".
	wrapper string
	// If absent is true, the wrapper does not exist. A nil state says that of web.
	absent bool
	// claims are the names of the wrapper's PersistentVolumeClaims.
	claims []string
	// replaced makes the objects immutable, with the annotation that lets the manager replace them (delete and create).
	replaced bool
	// onConflict and onDelete are the wrapper's fields of these names.
	onConflict v1alpha1.ConflictPolicy
	onDelete   v1alpha1.DeletionPolicy
	// If waves is true, the rollout changes east first, and then west. If asks is true, the wave of west waits for an Approval.
	// If approved is true, the author writes that Approval, and nothing else. If rollsBack is true, onFailure is Rollback.
	waves, asks, approved, rollsBack bool
	// The field "still" has, by member, the objects that a member keeps from an earlier state because of the rollout. The field
	// "rests" is the state of that rollout and the reason why it waits, with a space between them; "" if the rollout completes.
	still map[string]map[string]string
	rests string
}

// web is the name of the wrapper in most states.
const web = "web"

// on returns the objects that a member has in the end.
func (w *desiredState) on(member string) map[string]string {
	if earlier, keeps := w.still[member]; keeps {
		return earlier
	}
	return w.objects
}

// of returns the name of the wrapper. A nil state is about the wrapper web.
func (w *desiredState) of() string {
	if w == nil || w.wrapper == "" {
		return web
	}
	return w.wrapper
}

// adopts reports whether the wrapper adopts another owner's object of this name.
func (w *desiredState) adopts(name string) bool {
	return w.onConflict == v1alpha1.ConflictAdoptIfEqual && w.objects[name] == foreignContent
}

// refused stands for a content of a ConfigMap that every API server refuses. Method manifests writes such a ConfigMap.
const refused = "refused"

// foreignContent is the content of an object of another owner.
const foreignContent = "another owner's"

// history is what users did, in the order of time. It is the input of the model.
type history struct {
	states []*desiredState
	// foreign are, by member, the names of objects of other owners that have the name of an object of the wrapper.
	foreign map[string][]string
	// kept are the objects that wrappers have left on members for good, as look returns them.
	kept fleetState
}

// last returns the last desired state of each wrapper, by the wrapper's name. The state of a deleted wrapper is nil.
func (h history) last() map[string]*desiredState {
	all := make(map[string]*desiredState)
	for _, w := range h.states {
		all[w.of()] = w
	}
	return all
}

// fleetState is the state of all members, by the member's name. An object is "NAME=CONTENT of WRAPPER", or "NAME=CONTENT" if it
// has no marks. An entry of a Delivery is "NAME STATE".
type fleetState map[string]holding

type holding struct {
	Objects, Entries []string
}

// String returns the state in lines, for comparisons and messages.
func (w fleetState) String() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(w)) {
		fmt.Fprintf(&b, "%s: objects %q, entries %q\n", name, w[name].Objects, w[name].Entries)
	}
	return b.String()
}

// model returns the state that the members must have in the end, at whichever point a program died:
//
//   - The objects of the last desired state are on its members.
//   - Of Fairlead's other objects, only the kept ones exist.
//   - An object of another owner is unchanged, unless the wrapper adopts it. If a wrapper has an object of the same name,
//     the wrapper's entry is Pending.
//
// The model does not cover a history whose last state has an object that the API server refuses.
func model(h history) fleetState {
	state := make(fleetState)
	for _, member := range members {
		is := holding{Objects: slices.Clone(h.kept[member].Objects), Entries: slices.Clone(h.kept[member].Entries)}
		adopted := make(map[string]bool)
		for name, w := range h.last() {
			if w == nil || !slices.Contains(w.members, member) {
				continue
			}
			prefix := ""
			if name != web {
				prefix = name + "/"
			}
			for object, content := range w.on(member) {
				adopted[object] = w.adopts(object)
				if slices.Contains(h.foreign[member], object) && !adopted[object] {
					is.Entries = append(is.Entries, prefix+object+" Pending")
					continue
				}
				is.Objects = append(is.Objects, object+"="+content+" of "+name)
				is.Entries = append(is.Entries, prefix+object+" Applied")
			}
			for _, claim := range w.claims {
				is.Objects = append(is.Objects, "claim "+claim+" of "+name)
				is.Entries = append(is.Entries, prefix+claim+" Applied")
			}
		}
		for _, name := range h.foreign[member] {
			if !adopted[name] {
				is.Objects = append(is.Objects, name+"="+foreignContent)
			}
		}
		slices.Sort(is.Objects)
		slices.Sort(is.Entries)
		state[member] = is
	}
	return state
}

// inTheWay reports whether another owner has an object with the name of one of the wrapper's objects, and the wrapper does
// not adopt it. Then the wrapper cannot become Ready.
func (h history) inTheWay(w *desiredState) bool {
	for member, names := range h.foreign {
		if slices.Contains(w.members, member) && slices.ContainsFunc(names, func(name string) bool {
			_, wanted := w.objects[name]
			return wanted && !w.adopts(name)
		}) {
			return true
		}
	}
	return false
}
