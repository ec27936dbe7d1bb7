// SPDX-License-Identifier: Apache-2.0

package oldrevisions

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/fairlead-dev/fairlead/federate/render"
	"github.com/fairlead-dev/fairlead/overrides/selection"
)

// readTimeout bounds how long a pass waits for the host's API server. A pass that runs out of it is tried again.
const readTimeout = 10 * time.Second

// Rendering is what one member has of an earlier revision. It is never changed.
type Rendering struct {
	store   *Store
	id      ID
	member  selection.Member
	digest  string
	objects []render.ObjectID
}

// Digest is the digest of the objects.
func (r *Rendering) Digest() string { return r.digest }

// Lists reports whether an object is among them.
func (r *Rendering) Lists(group, kind, name string) bool {
	return slices.Contains(r.objects, render.ObjectID{Group: group, Kind: kind, Name: name})
}

// Render makes the objects. It reads the revision from the host unless the Store still has it.
func (r *Rendering) Render() (*render.Rendering, error) {
	// The caller has no context to pass: every other rendering is made without a request.
	ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
	defer cancel()
	variant, _, err := r.store.same(ctx, r.id, r.member, r.digest)
	if err != nil {
		return nil, err
	}
	return variant.Render()
}

// Is reports whether this is the rendering with that digest, of that revision, for that member with those labels.
func (r *Rendering) Is(id ID, m selection.Member, digest string) bool {
	return r.id == id && r.digest == digest && r.member.Name == m.Name && maps.Equal(r.member.Labels, m.Labels)
}
