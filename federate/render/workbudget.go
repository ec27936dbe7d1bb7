// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"maps"

	"github.com/fairlead-dev/fairlead/overrides"
	"github.com/fairlead-dev/fairlead/overrides/selection"
)

const (
	// workPerByte is the cost of encoding and digesting a byte, in the units of overrides.
	workPerByte = 4
	// maxWork limits the work of the distinct renderings of one wrapper together, in units of overrides: about a minute
	// of one processor. It does not limit their number, since a thousand small renderings cost less than ten large
	// ones. For a full wrapper of 1 MiB it allows two thousand distinct renderings. If only an object of 64 KiB
	// differs, it allows tens of thousands.
	maxWork = 16 << 30
)

// Round renders a wrapper for its placed members, in the order of their names, and bounds the work. Which members it
// refuses depends only on the wrapper and these members, not on earlier renderings. A Round is not safe for concurrent
// use; the Renderer is.
type Round struct {
	renderer *Renderer
	seen     map[variantKey]bool // the variants that were rendered in this round
	left     int64
}

// NewRound begins a round.
func (r *Renderer) NewRound() *Round {
	return &Round{renderer: r, seen: map[variantKey]bool{}, left: r.maxWork}
}

// For is Renderer.For within the limit of the round. The error wraps overrides.ErrTooCostly if the rendering of the
// member exceeds the limit, or the renderings of the wrapper together do.
func (x *Round) For(m selection.Member) (*Rendering, error) {
	v, err := x.Variant(m)
	if err != nil {
		return nil, err
	}
	return v.Render()
}

// Variant is For without the objects.
func (x *Round) Variant(m selection.Member) (*Variant, error) {
	key := x.renderer.key(m)
	seen := x.seen[key]
	if !seen && x.left <= 0 {
		return nil, fmt.Errorf("rendering for member %s: %w: the %d different renderings before it used up the work budget of the wrapper: "+
			"make fewer or smaller objects differ between members, or split the wrapper", m.Name, overrides.ErrTooCostly, len(x.seen))
	}
	v := x.renderer.variant(key, m)
	if !seen {
		x.seen[key] = true
		x.left -= v.work
	}
	return v, v.failure(m)
}

// Done ends a round. The renderer then forgets the variants that no member of this round has. Otherwise a label that
// changes often would leave a variant behind each time.
func (x *Round) Done() {
	x.renderer.mu.Lock()
	defer x.renderer.mu.Unlock()
	maps.DeleteFunc(x.renderer.variants, func(key variantKey, _ *Variant) bool { return !x.seen[key] })
}
