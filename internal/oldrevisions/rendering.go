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

// readTimeout bounds how long a pass waits for the host's API server. If the API server does not answer in that time,
// the pass fails, and the manager tries again later.
const readTimeout = 10 * time.Second

// Rendering is an earlier revision, rendered for one member. It never changes.
type Rendering struct {
	store   *Store
	id      ID
	member  selection.Member
	digest  string
	objects []render.ObjectID
}

// Digest returns the digest of the objects.
func (r *Rendering) Digest() string { return r.digest }

// Lists reports whether the rendering has an object of this group, kind and name.
func (r *Rendering) Lists(group, kind, name string) bool {
	return slices.Contains(r.objects, render.ObjectID{Group: group, Kind: kind, Name: name})
}

// Render makes the objects. If the Store does not have the revision in memory, it reads the revision from the host.
func (r *Rendering) Render() (*render.Rendering, error) {
	// Render implements plan.Rendering, whose method Render has no context: for the present spec it needs no request. So
	// this method sets its own time limit.
	ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
	defer cancel()
	variant, _, err := r.store.same(ctx, r.id, r.member, r.digest)
	if err != nil {
		return nil, err
	}
	return variant.Render()
}

// Is reports whether this is the rendering of the given revision, for the given member with these labels, and with the
// given digest.
func (r *Rendering) Is(id ID, m selection.Member, digest string) bool {
	return r.id == id && r.digest == digest && r.member.Name == m.Name && maps.Equal(r.member.Labels, m.Labels)
}
