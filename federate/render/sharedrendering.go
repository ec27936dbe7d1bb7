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

// Variant is the rendering that members share if the same overrides and values apply to them. It keeps the digest of
// the rendering, and renders the objects when a caller needs them.
type Variant struct {
	renderer *Renderer
	// member is one of these members. Rendering for any of them gives the same result.
	member selection.Member
	// digest and err are the result of the rendering, which is the same each time. work is its cost. digest is kept as
	// bytes to save memory: there may be one for every pair.
	digest digest.Sum
	err    error
	work   int64

	// made is held while the Variant is rendered.
	made      sync.Mutex
	rendering weak.Pointer[Rendering]
}

// variantKey identifies a variant. It is a digest because the key itself can be long: an author can have a member's
// labels copied into it thousands of times.
type variantKey [sha256.Size]byte

func (r *Renderer) key(m selection.Member) variantKey {
	var space [64]byte
	return sha256.Sum256(r.set.Variant(space[:0], m))
}

// variant returns the variant of a member. It renders the variant now unless that has been done before.
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

// For returns the rendering for a member. Members of one variant get the same *Rendering as long as a caller holds it.
// An error from an override is an *overrides.Error that names the member.
func (r *Renderer) For(m selection.Member) (*Rendering, error) {
	return r.variant(r.key(m), m).forMember(m)
}

// VariantFor is For, but without the objects.
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

// failure returns the error of the rendering, with the name of this member.
func (v *Variant) failure(m selection.Member) error {
	if v.err == nil {
		return nil
	}
	if e := (*overrides.Error)(nil); errors.As(v.err, &e) {
		return e.For(m.Name) // the error may name another member
	}
	return fmt.Errorf("rendering for member %s: %w", m.Name, v.err)
}

// Render makes the rendering, or returns the rendering that another caller still holds.
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

// Digest is the digest of the rendering.
func (v *Variant) Digest() string { return v.digest.String() }

// Lists reports whether an object is in the rendering.
func (v *Variant) Lists(group, kind, name string) bool {
	return slices.ContainsFunc(v.renderer.identities, func(i identity) bool { return i.group == group && i.kind == kind && i.name == name })
}

// Distinct is the number of different renderings that the renderer has made.
func (r *Renderer) Distinct() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.variants)
}
