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

// maxRevisions is how many revisions a Store keeps in memory. Each may have 1 MiB.
const maxRevisions = 32

// ErrLost is the error for a rendering that cannot be made again as it was: the revision is gone or unreadable, or renders
// otherwise now.
var ErrLost = errors.New("it cannot be rendered again as it was")

// ID names a revision of a wrapper.
type ID struct {
	// Wrapper is the uid of the wrapper. Namespace is that of the wrapper's objects, and Beside that of its revisions.
	Wrapper           types.UID
	Namespace, Beside string
	// Name is the name of the ControllerRevision.
	Name string
}

// IDOf names a revision of a wrapper.
func IDOf(w v1alpha1.Wrapper, name string) ID {
	return ID{Wrapper: w.GetUID(), Namespace: w.GetNamespace(), Beside: v1alpha1.Identity(w).Beside(), Name: name}
}

// Store reads and renders revisions. It is safe for concurrent use.
type Store struct {
	reader client.Reader
	key    *revision.HistoryKey
	recent *lru.Cache
}

// New makes a store. reader reads past the cache, since the manager does not keep ControllerRevisions in memory.
func New(reader client.Reader, key *revision.HistoryKey) *Store {
	return &Store{reader: reader, key: key, recent: lru.New(maxRevisions)}
}

// stored is a revision in memory.
type stored struct {
	renderer *render.Renderer
	// objects are the objects of each of its renderings: overrides change neither kinds nor names.
	objects []render.ObjectID
}

// Digest returns the digest of a member's rendering of a revision. The error wraps ErrLost where another try does not help.
func (s *Store) Digest(ctx context.Context, id ID, m selection.Member) (string, error) {
	variant, _, err := s.variant(ctx, id, m)
	if err != nil {
		return "", err
	}
	return variant.Digest(), nil
}

// Rendering returns a member's rendering of a revision, if it has the digest that the member was told to have. The error wraps
// ErrLost if it has another, or cannot be made any more.
func (s *Store) Rendering(ctx context.Context, id ID, m selection.Member, digest string) (*Rendering, error) {
	_, objects, err := s.same(ctx, id, m, digest)
	if err != nil {
		return nil, err
	}
	return &Rendering{store: s, id: id, member: m, digest: digest, objects: objects}, nil
}

// same is variant, if that has the digest.
func (s *Store) same(ctx context.Context, id ID, m selection.Member, digest string) (*render.Variant, []render.ObjectID, error) {
	variant, objects, err := s.variant(ctx, id, m)
	if err == nil && variant.Digest() != digest {
		err = fmt.Errorf("rendering revision %s for member %s: %w: labels of the member or Fairlead itself have changed since", id.Name, m.Name, ErrLost)
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

// read returns a revision from memory, or reads it from the host.
func (s *Store) read(ctx context.Context, id ID) (*stored, error) {
	if known, ok := s.recent.Get(id); ok {
		return known.(*stored), nil //nolint:forcetypeassert // the cache has nothing else
	}
	found := &appsv1.ControllerRevision{}
	err := s.reader.Get(ctx, client.ObjectKey{Namespace: id.Beside, Name: id.Name}, found)
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("reading revision %s: %w: it was deleted", id.Name, ErrLost)
	}
	if err != nil {
		return nil, fmt.Errorf("reading revision %s: %w", id.Name, err)
	}
	if owner := found.Labels[v1alpha1.LabelUID]; owner != string(id.Wrapper) {
		return nil, fmt.Errorf("reading revision %s: %w: it is another wrapper's", id.Name, ErrLost)
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
