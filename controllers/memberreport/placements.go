// SPDX-License-Identifier: Apache-2.0

package memberreport

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
)

// placements are the wrappers of the host, and decide whose evidence about a wrapper counts. They are not safe for concurrent use.
type placements struct {
	// wrappers are the objects of the cache itself, so this package must not change them.
	wrappers map[deliveries.Key]v1alpha1.Wrapper
	// complete is true after every wrapper of the host was added once.
	complete bool
}

// counts reports whether what a member shows of a wrapper counts. Before all wrappers of the host are known, it also returns true for
// a wrapper that is not known.
func (p *placements) counts(id wrapperID, member string) bool {
	w := p.wrappers[id.Key]
	if w == nil {
		return !p.complete
	}
	return w.GetUID() == id.uid && isPlaced(w, member)
}

// countingMembers returns the members whose evidence about a wrapper counts. ok is false before the manager has decided on the
// placement of the wrapper.
func (p *placements) countingMembers(id wrapperID) (members sets.Set[string], ok bool) {
	members = sets.New[string]()
	w := p.wrappers[id.Key]
	if w == nil || w.GetUID() != id.uid {
		return members, true
	}
	placed := &w.WrapperStatus().Placement
	return members.Insert(placed.Clusters...).Insert(placed.Leaving...), isDecided(w)
}

// isDecided reports whether the manager has decided on the placement of a wrapper.
func isDecided(w v1alpha1.Wrapper) bool { return w.WrapperStatus().Placement.ObservedGeneration != 0 }

// isPlaced reports whether a wrapper is placed on a member, or is leaving it. It returns true before the manager has decided on the
// placement.
func isPlaced(w v1alpha1.Wrapper, member string) bool {
	p := &w.WrapperStatus().Placement
	return !isDecided(w) || slices.Contains(p.Clusters, member) || slices.Contains(p.Leaving, member)
}

// isPlacedAs reports whether two states of a wrapper have the same placement. Most changes of a wrapper do not change its placement.
func isPlacedAs(a, b v1alpha1.Wrapper) bool {
	was, is := &a.WrapperStatus().Placement, &b.WrapperStatus().Placement
	return isDecided(a) == isDecided(b) && slices.Equal(was.Clusters, is.Clusters) && slices.Equal(was.Leaving, is.Leaving)
}
