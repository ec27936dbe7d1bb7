// SPDX-License-Identifier: Apache-2.0

package prune

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/federate/render"
)

// Sort sorts removals in reverse install order: the object that was installed last comes first.
func Sort(all []*Removal) {
	slices.SortFunc(all, func(a, b *Removal) int {
		rankA := render.InstallOrder(schema.GroupKind{Group: a.Entry.Group, Kind: a.Entry.Kind})
		rankB := render.InstallOrder(schema.GroupKind{Group: b.Entry.Group, Kind: b.Entry.Kind})
		if rankA != rankB {
			return rankB - rankA
		}
		return cmp.Or(strings.Compare(b.Entry.Kind, a.Entry.Kind), strings.Compare(b.Entry.Name, a.Entry.Name),
			strings.Compare(b.Entry.Group, a.Entry.Group))
	})
}
