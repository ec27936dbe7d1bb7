// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// wish is what an author wants: objects by name with their content, on members. A nil wish is a deleted wrapper.
type wish struct {
	objects map[string]string
	members []string
}

// refused is a content that no API server takes.
const refused = "refused"

// somebodys is the content of an object that is not ours.
const somebodys = "somebody's"

// history is what people did, in order.
type history struct {
	wishes []*wish
	// foreign are objects that somebody else made, by member and name, in the place of ours.
	foreign map[string][]string
}

// world is what a fleet holds: for each member its objects, "name=content", and the entries of its Delivery, "name State".
type world map[string]holding

type holding struct {
	Objects, Entries []string
}

// String is the world in lines, for comparisons and people.
func (w world) String() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(w)) {
		fmt.Fprintf(&b, "%s: objects %q, entries %q\n", name, w[name].Objects, w[name].Entries)
	}
	return b.String()
}

// model is what the fleet holds in the end, whatever died on the way: what the last wish says where it says it, nothing of
// ours anywhere else, and everything of somebody else's as it was, though it is in our way. An object that the API server refuses is as it was
// before, which is why histories end in wishes without one.
func model(h history) world {
	w := make(world)
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

// inTheWay says whether something of somebody else's is where the last wish wants something of ours.
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
