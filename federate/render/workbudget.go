// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"maps"

	"github.com/fairlead-dev/fairlead/overrides"
	"github.com/fairlead-dev/fairlead/overrides/selection"
)

const (
	// workPerByte is the cost of encoding and digesting one byte, in the units of package overrides.
	workPerByte = 4
	// maxWork limits the total work of all different renderings of one wrapper, in the units of package overrides: about
	// a minute of one processor. The limit is not a number of renderings, because a thousand small ones cost less than
	// ten large ones. For a full wrapper of 1 MiB it allows two thousand different renderings. If only an object of 64
	// KiB differs, it allows tens of thousands.
	maxWork = 16 << 30
)

// Round renders a wrapper for its placed members, in the order of their names, within the work limit of the wrapper. It
// refuses a member that needs one more rendering after the limit is used up. So the refused members depend only on the
// wrapper and its placed members, and not on earlier rounds. A Round is not safe for concurrent use; a Renderer is.
type Round struct {
	renderer *Renderer
	seen     map[variantKey]bool // the variants that this round has counted
	left     int64
}

// NewRound begins a round with the full work limit.
func (r *Renderer) NewRound() *Round {
	return &Round{renderer: r, seen: map[variantKey]bool{}, left: r.maxWork}
}

// For returns the rendering for a member. If the round has used up its work limit, the error wraps
// overrides.ErrTooCostly.
func (x *Round) For(m selection.Member) (*Rendering, error) {
	v, err := x.Variant(m)
	if err != nil {
		return nil, err
	}
	return v.Render()
}

// Variant returns the Variant of a member, under the same limit as For.
func (x *Round) Variant(m selection.Member) (*Variant, error) {
	key := x.renderer.key(m)
	seen := x.seen[key]
	if !seen && x.left <= 0 {
		return nil, fmt.Errorf("rendering for member %s: %w: %d different renderings for other members used up the work budget of the wrapper: "+
			"make fewer or smaller objects differ between members, or split the wrapper", m.Name, overrides.ErrTooCostly, len(x.seen))
	}
	v := x.renderer.variant(key, m)
	if !seen {
		x.seen[key] = true
		x.left -= v.work
	}
	return v, v.failure(m)
}

// Done ends the round. The Renderer then drops the variants that no member of this round has. Without that, each change
// of a label would leave an unused variant in memory.
func (x *Round) Done() {
	x.renderer.mu.Lock()
	defer x.renderer.mu.Unlock()
	maps.DeleteFunc(x.renderer.variants, func(key variantKey, _ *Variant) bool { return !x.seen[key] })
}
