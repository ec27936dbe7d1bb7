// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// desiredState is a desired state of one wrapper: objects by name with their content, on members. A nil state means that the
// wrapper "web" is deleted.
type desiredState struct {
	objects map[string]string
	members []string
	// wrapper is the name of the wrapper; "" means "web".
	wrapper string
	// claims are the names of PersistentVolumeClaims in addition to the objects.
	claims []string
	// replaced makes the objects immutable, with the annotation that lets the manager make them again.
	replaced bool
	// onConflict and onDelete are the fields of the wrapper.
	onConflict v1alpha1.ConflictPolicy
	onDelete   v1alpha1.DeletionPolicy
}

// web is the name of the wrapper in most states.
const web = "web"

// of is the name of the wrapper.
func (w *desiredState) of() string {
	if w == nil || w.wrapper == "" {
		return web
	}
	return w.wrapper
}

// adopts reports whether the wrapper adopts another owner's object of that name.
func (w *desiredState) adopts(name string) bool {
	return w.onConflict == v1alpha1.ConflictAdoptIfEqual && w.objects[name] == foreignContent
}

// refused is a content that every API server refuses.
const refused = "refused"

// foreignContent is the content of an object of another owner.
const foreignContent = "somebody's"

// history is what users did, in order.
type history struct {
	states []*desiredState
	// foreign are objects of another owner in the place of ours, by member and name.
	foreign map[string][]string
	// kept are the objects that wrappers have left on members for good, in the form of look.
	kept fleetState
}

// last returns the last desired state of each wrapper, by name; nil for a wrapper that is deleted.
func (h history) last() map[string]*desiredState {
	all := make(map[string]*desiredState)
	for _, w := range h.states {
		all[w.of()] = w
	}
	return all
}

// fleetState is the state of all members. For each it has the objects, "name=content of wrapper", and the entries of the Deliveries,
// "name State". An object without marks is of no wrapper.
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

// model returns the state of the members in the end, whichever program died before. The objects of the last desired
// state are on their members. No other object of ours is anywhere, except for the kept ones. All objects of other
// owners are unchanged, also those with the name of one of ours. An object that the API server refuses stays as it was
// before, so histories end with a desired state without such an object.
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
			for object, content := range w.objects {
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

// inTheWay reports whether an object of another owner is in the place of an object of a desired state.
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
