// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// wish is a desired state: objects by name with their content, on members. A nil wish is a deleted wrapper.
type wish struct {
	objects map[string]string
	members []string
}

// refused is a content that every API server refuses.
const refused = "refused"

// somebodys is the content of an object of another owner.
const somebodys = "somebody's"

// history is what users did, in order.
type history struct {
	wishes []*wish
	// foreign are objects of another owner in the place of ours, by member and name.
	foreign map[string][]string
}

// fleetState is the state of all members: for each its objects, "name=content", and the entries of its Delivery, "name State".
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

// model returns the state of the members in the end, whatever died before: the objects of the last wish on its members, no object of ours
// anywhere else, and all objects of other owners unchanged, also in the place of ours. An object that the API server refuses stays as
// it was before, so histories end with wishes without one.
func model(h history) fleetState {
	w := make(fleetState)
	last := h.wishes[len(h.wishes)-1]
	for _, member := range members {
		var is holding
		for _, name := range h.foreign[member] {
			is.Objects = append(is.Objects, name+"="+somebodys)
		}
		if last != nil && slices.Contains(last.members, member) {
			for name, content := range last.objects {
				if slices.Contains(h.foreign[member], name) {
					is.Entries = append(is.Entries, name+" Pending")
					continue
				}
				is.Objects = append(is.Objects, name+"="+content)
				is.Entries = append(is.Entries, name+" Applied")
			}
		}
		slices.Sort(is.Objects)
		slices.Sort(is.Entries)
		w[member] = is
	}
	return w
}

// inTheWay reports whether an object of another owner is in the place of an object of the last wish.
func (h history) inTheWay() bool {
	last := h.wishes[len(h.wishes)-1]
	for member, names := range h.foreign {
		if last != nil && slices.Contains(last.members, member) && slices.ContainsFunc(names, func(name string) bool {
			_, wanted := last.objects[name]
			return wanted
		}) {
			return true
		}
	}
	return false
}
