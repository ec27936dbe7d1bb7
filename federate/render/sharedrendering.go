// SPDX-License-Identifier: Apache-2.0

package render

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync"
	"weak"

	"github.com/fairlead-dev/fairlead/federate/digest"
	"github.com/fairlead-dev/fairlead/overrides"
	"github.com/fairlead-dev/fairlead/overrides/selection"
)

// Variant is one rendering that several members share, because the same overrides and values apply to them. It keeps the
// digest of the rendering. It renders the objects only when a caller asks for them.
type Variant struct {
	renderer *Renderer
	// member is one of the members that share the rendering. Rendering for any of them gives the same result.
	member selection.Member
	// digest is the digest of the rendering, in bytes to save memory: there may be one Variant for every pair of a
	// wrapper and a member. It is zero before the first rendering, and if rendering fails.
	digest digest.Sum
	// err is the error of rendering; nil if rendering succeeded. Another try would give the same result.
	err error
	// work is the cost of rendering, in the units of package overrides.
	work int64

	// made is locked while a caller renders the Variant.
	made      sync.Mutex
	rendering weak.Pointer[Rendering]
}

// variantKey identifies a Variant. It is a digest of a text with all values that overrides take from the member. The
// text itself can be long, because overrides may use the same label thousands of times.
type variantKey [sha256.Size]byte

func (r *Renderer) key(m selection.Member) variantKey {
	var space [64]byte
	return sha256.Sum256(r.set.Variant(space[:0], m))
}

// variant returns the Variant of a member. It renders the objects if that Variant has no digest yet.
func (r *Renderer) variant(key variantKey, m selection.Member) *Variant {
	r.mu.Lock()
	v := r.variants[key]
	if v == nil {
		v = &Variant{renderer: r, member: m}
		r.variants[key] = v
	}
	r.mu.Unlock()
	v.made.Lock()
	defer v.made.Unlock()
	if v.digest != (digest.Sum{}) || v.err != nil {
		return v
	}
	var rendering *Rendering
	if rendering, v.work, v.err = r.render(m); v.err == nil {
		v.digest, v.rendering = rendering.sum, weak.Make(rendering)
	}
	return v
}

// For returns the rendering for a member. Members of the same Variant share one *Rendering while any caller uses it. An
// error from an override is an *overrides.Error with the member's name.
func (r *Renderer) For(m selection.Member) (*Rendering, error) {
	return r.variant(r.key(m), m).forMember(m)
}

// VariantFor returns the Variant of a member, which has the digest but not the objects.
func (r *Renderer) VariantFor(m selection.Member) (*Variant, error) {
	v := r.variant(r.key(m), m)
	return v, v.failure(m)
}

func (v *Variant) forMember(m selection.Member) (*Rendering, error) {
	if err := v.failure(m); err != nil {
		return nil, err
	}
	return v.Render()
}

// failure returns the error of the rendering with the name of member m.
func (v *Variant) failure(m selection.Member) error {
	if v.err == nil {
		return nil
	}
	if e := (*overrides.Error)(nil); errors.As(v.err, &e) {
		return e.For(m.Name) // the stored error names the member for which the Variant was rendered first
	}
	return fmt.Errorf("rendering for member %s: %w", m.Name, v.err)
}

// Render renders the objects. If another caller still uses the Rendering, it returns that one.
func (v *Variant) Render() (*Rendering, error) {
	if v.err != nil {
		return nil, v.err
	}
	v.made.Lock()
	defer v.made.Unlock()
	if rendering := v.rendering.Value(); rendering != nil {
		return rendering, nil
	}
	rendering, _, err := v.renderer.render(v.member)
	if err != nil {
		return nil, err
	}
	v.rendering = weak.Make(rendering)
	return rendering, nil
}

// Digest returns the digest of the rendering.
func (v *Variant) Digest() string { return v.digest.String() }

// Lists reports whether the rendering has an object of this group, kind and name.
func (v *Variant) Lists(group, kind, name string) bool {
	return slices.ContainsFunc(v.renderer.identities, func(i identity) bool { return i.group == group && i.kind == kind && i.name == name })
}

// Distinct returns how many different renderings the Renderer has made.
func (r *Renderer) Distinct() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.variants)
}
