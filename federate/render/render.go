// SPDX-License-Identifier: Apache-2.0

package render

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate"
	"github.com/fairlead-dev/fairlead/overrides"
)

const (
	// maxObject is how large one rendered object may be, in bytes: a member's etcd refuses requests
	// past 1.5 MiB, and the marks come on top.
	maxObject = 1 << 20
	// maxRendering is how large all of them may be: the 1 MiB of a wrapper and as much again from
	// overrides.
	maxRendering = 2 << 20
	// maxKept is how many bytes that renderings do not share a Renderer keeps. What comes on top is
	// rendered again for each who asks: time, rather than the memory of a host with many members.
	maxKept = 64 << 20
)

// Rendering is what one member gets, or many equal ones.
type Rendering struct {
	// Digest is that of the objects, their identities and digests in install order.
	Digest string
	// Objects are in install order.
	Objects []Object
}

// Renderer renders one wrapper at one generation for any members. It is safe for concurrent use, and
// keeps the renderings that it made, up to maxKept: let go of it when the wrapper changes.
type Renderer struct {
	set *overrides.Set
	// What follows goes index by index, in install order: overrides change neither kinds nor names, so
	// every rendering has the same.
	objects []*unstructured.Unstructured
	base    []Object // the objects without overrides
	pieces  [][]byte // identity and digest of each of base, two for each

	maxKept int
	maxWork int64 // of a Round

	mu       sync.Mutex
	variants map[variantKey]*variant
	kept     int // bytes of the variants that are not those of base
}

// variant is the rendering of all members that are not told apart.
type variant struct {
	once      sync.Once
	rendering *Rendering
	own       int   // bytes that it does not share with others
	work      int64 // see overrides.Set.Apply, and what it took to write the result
	err       error
}

// New reads a wrapper's spec. namespace is that of a Federated, filled in where an object has none; a
// ClusterFederated's is "", and its objects stay without. An error is final for this spec; one about
// an override is an *overrides.Error.
func New(spec *v1alpha1.WrapperSpec, namespace string) (*Renderer, error) {
	r := &Renderer{maxKept: maxKept, maxWork: maxWork, variants: make(map[variantKey]*variant, 1)}
	for i := range spec.Objects {
		obj, err := overrides.Decode(spec.Objects[i])
		if err != nil {
			return nil, fmt.Errorf("reading objects[%d]: %w", i, err)
		}
		if err := settle(obj, namespace); err != nil {
			return nil, fmt.Errorf("reading objects[%d]: %w", i, err)
		}
		r.objects = append(r.objects, obj)
	}
	slices.SortFunc(r.objects, compare)
	for _, obj := range r.objects {
		o, err := newObject(obj)
		if err != nil {
			return nil, fmt.Errorf("writing %s %s: %w", obj.GetKind(), obj.GetName(), err)
		}
		r.base = append(r.base, o)
		r.pieces = append(r.pieces, o.identity(), []byte(o.Digest))
	}
	var err error
	if r.set, err = overrides.Compile(spec.Overrides); err != nil {
		return nil, fmt.Errorf("reading overrides: %w", err)
	}
	return r, nil
}

// settle gives an object the wrapper's namespace. That an object names another is admission's to
// refuse, and refused again here: a wrapper must not reach out of its namespace.
func settle(obj *unstructured.Unstructured, namespace string) error {
	if obj.GetAPIVersion() == "" || obj.GetKind() == "" || obj.GetName() == "" {
		return errors.New("it needs apiVersion, kind and metadata.name")
	}
	switch obj.GetNamespace() {
	case namespace:
	case "":
		obj.SetNamespace(namespace)
	default:
		if namespace == "" {
			return fmt.Errorf("%s %s has metadata.namespace %q: a ClusterFederated holds cluster-scoped objects, namespaced ones belong into a Federated of that namespace",
				obj.GetKind(), obj.GetName(), obj.GetNamespace())
		}
		return fmt.Errorf("%s %s has metadata.namespace %q: objects land in the wrapper's namespace, %s",
			obj.GetKind(), obj.GetName(), obj.GetNamespace(), namespace)
	}
	return nil
}

// For is the rendering for a member: the very same one for members that no override tells apart. An
// error from an override is an *overrides.Error that names the member.
func (r *Renderer) For(m overrides.Member) (*Rendering, error) {
	return r.variant(r.key(m), m).forMember(m)
}

func (v *variant) forMember(m overrides.Member) (*Rendering, error) {
	if v.err != nil {
		if e := (*overrides.Error)(nil); errors.As(v.err, &e) {
			return nil, e.For(m.Name) // it may have been another's, of the same variant
		}
		return nil, fmt.Errorf("rendering for member %s: %w", m.Name, v.err)
	}
	return v.rendering, nil
}

// variantKey tells apart the members that overrides tell apart.
type variantKey [sha256.Size]byte

func (r *Renderer) key(m overrides.Member) variantKey {
	var space [64]byte
	// A digest: an author can have a member's labels put into it thousands of times.
	return sha256.Sum256(r.set.Variant(space[:0], m))
}

// variant is the rendering of a member's variant, made now unless it is there.
func (r *Renderer) variant(key variantKey, m overrides.Member) *variant {
	r.mu.Lock()
	v := r.variants[key]
	if v == nil {
		v = &variant{}
		r.variants[key] = v
	}
	r.mu.Unlock()

	v.once.Do(func() {
		r.render(v, m)
		r.keep(key, v)
	})
	return v
}

// keep counts what a variant weighs, and lets go of it where that is too much.
func (r *Renderer) keep(key variantKey, v *variant) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.kept+v.own > r.maxKept {
		delete(r.variants, key)
		return
	}
	r.kept += v.own
}

// Distinct is how many different renderings it keeps.
func (r *Renderer) Distinct() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.variants)
}

// render fills in a variant.
func (r *Renderer) render(v *variant, m overrides.Member) {
	tailored, work, err := r.set.Apply(r.objects, m)
	v.work = work
	if err == nil {
		v.rendering, v.own, err = r.write(tailored)
		v.work += workPerByte * int64(v.own)
	}
	v.err = err
}

// write makes a rendering of tailored objects, and says how many bytes of it are its own.
func (r *Renderer) write(tailored []*unstructured.Unstructured) (out *Rendering, own int, err error) {
	out = &Rendering{Objects: slices.Clone(r.base)}
	pieces := slices.Clone(r.pieces)
	total := 0
	for i, obj := range tailored {
		o := &out.Objects[i]
		if obj != r.objects[i] {
			if *o, err = newObject(obj); err != nil {
				return nil, own, fmt.Errorf("writing %s %s: %w", obj.GetKind(), obj.GetName(), err)
			}
			if err := bounded(o); err != nil {
				return nil, own + len(o.JSON), err
			}
			own += len(o.JSON)
			pieces[2*i+1] = []byte(o.Digest)
		}
		total += len(o.JSON)
	}
	if total > maxRendering {
		return nil, own, fmt.Errorf("the objects come to %d KiB with the overrides, %d at most", total>>10, maxRendering>>10)
	}
	out.Digest = federate.Digest(pieces...)
	return out, own, nil
}

// bounded says whether overrides made an object larger than a member takes.
func bounded(o *Object) error {
	if len(o.JSON) > maxObject {
		return fmt.Errorf("%s comes to %d KiB with the overrides, %d at most", o, len(o.JSON)>>10, maxObject>>10)
	}
	if depth := overrides.Depth(o.JSON); depth > overrides.MaxDepth {
		return fmt.Errorf("%s is nested %d deep with the overrides, %d at most", o, depth, overrides.MaxDepth)
	}
	return nil
}
