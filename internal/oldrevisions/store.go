// SPDX-License-Identifier: Apache-2.0

package oldrevisions

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/render"
	"github.com/fairlead-dev/fairlead/federate/revision"
	"github.com/fairlead-dev/fairlead/overrides/selection"
)

// maxRevisions is the largest number of revisions that a Store keeps in memory. One revision takes up to 1 MiB.
const maxRevisions = 32

// ErrLost means that the manager cannot reproduce the rendering that a member has. Either the ControllerRevision is
// gone or unreadable, or it now renders to another digest for the member.
var ErrLost = errors.New("the manager cannot render the revision again as before")

// ID identifies a revision of a wrapper.
type ID struct {
	// Wrapper is the uid of the wrapper.
	Wrapper types.UID
	// Namespace is the namespace of the wrapper's objects; "" for a ClusterFederated.
	Namespace string
	// Beside is the namespace of the wrapper's ControllerRevisions.
	Beside string
	// Name is the name of the ControllerRevision.
	Name string
}

// IDOf returns the ID of a wrapper's revision. name is the name of the ControllerRevision.
func IDOf(w v1alpha1.Wrapper, name string) ID {
	return ID{Wrapper: w.GetUID(), Namespace: w.GetNamespace(), Beside: v1alpha1.Identity(w).Beside(), Name: name}
}

// Store reads revisions from the host and renders them. It is safe for concurrent use.
type Store struct {
	reader client.Reader
	key    *revision.HistoryKey
	recent *lru.Cache
}

// New makes a store. reader must read from the host's API server directly, because the manager has no cache of
// ControllerRevisions.
func New(reader client.Reader, key *revision.HistoryKey) *Store {
	return &Store{reader: reader, key: key, recent: lru.New(maxRevisions)}
}

// stored is a revision that the Store has in memory.
type stored struct {
	renderer *render.Renderer
	// objects are the IDs of the objects. They are the same for every member, because overrides change neither kinds nor
	// names.
	objects []render.ObjectID
}

// Digest returns the digest of a revision, rendered for a member. An error wraps ErrLost if another try cannot help.
func (s *Store) Digest(ctx context.Context, id ID, m selection.Member) (string, error) {
	variant, _, err := s.variant(ctx, id, m)
	if err != nil {
		return "", err
	}
	return variant.Digest(), nil
}

// Rendering returns a revision, rendered for a member. digest is the digest in the member's Delivery. The error wraps
// ErrLost if the revision renders to another digest now, or if another try cannot help.
func (s *Store) Rendering(ctx context.Context, id ID, m selection.Member, digest string) (*Rendering, error) {
	_, objects, err := s.same(ctx, id, m, digest)
	if err != nil {
		return nil, err
	}
	return &Rendering{store: s, id: id, member: m, digest: digest, objects: objects}, nil
}

// same renders a revision for a member. The error wraps ErrLost if the result does not have the given digest.
func (s *Store) same(ctx context.Context, id ID, m selection.Member, digest string) (*render.Variant, []render.ObjectID, error) {
	variant, objects, err := s.variant(ctx, id, m)
	if err == nil && variant.Digest() != digest {
		err = fmt.Errorf("rendering revision %s for member %s: %w: the labels of the member or Fairlead itself have changed since then", id.Name, m.Name, ErrLost)
	}
	return variant, objects, err
}

func (s *Store) variant(ctx context.Context, id ID, m selection.Member) (*render.Variant, []render.ObjectID, error) {
	known, err := s.read(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	made, err := known.renderer.VariantFor(m)
	if err != nil {
		return nil, nil, fmt.Errorf("rendering revision %s: %w: %w", id.Name, ErrLost, err)
	}
	return made, known.objects, nil
}

// read returns a revision from memory, or else reads it from the host.
func (s *Store) read(ctx context.Context, id ID) (*stored, error) {
	if known, ok := s.recent.Get(id); ok {
		return known.(*stored), nil //nolint:forcetypeassert // the cache has only values of type *stored
	}
	found := &appsv1.ControllerRevision{}
	err := s.reader.Get(ctx, client.ObjectKey{Namespace: id.Beside, Name: id.Name}, found)
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("reading ControllerRevision %s: %w: it was deleted", id.Name, ErrLost)
	}
	if err != nil {
		return nil, fmt.Errorf("reading ControllerRevision %s: %w", id.Name, err)
	}
	if owner := found.Labels[v1alpha1.LabelUID]; owner != string(id.Wrapper) {
		return nil, fmt.Errorf("reading ControllerRevision %s: %w: it belongs to another wrapper", id.Name, ErrLost)
	}
	known, err := s.decode(found, id)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrLost, err)
	}
	s.recent.Add(id, known)
	return known, nil
}

func (s *Store) decode(found *appsv1.ControllerRevision, id ID) (*stored, error) {
	content, err := s.key.Decode(found.Data.Raw, id.Wrapper, id.Name)
	if err != nil {
		return nil, err
	}
	spec, err := content.Spec()
	if err != nil {
		return nil, err
	}
	renderer, err := render.New(spec, id.Namespace)
	if err != nil {
		return nil, fmt.Errorf("rendering revision %s: %w", id.Name, err)
	}
	return &stored{renderer: renderer, objects: renderer.Objects()}, nil
}
