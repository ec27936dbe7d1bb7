// SPDX-License-Identifier: Apache-2.0

package render

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"weak"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/digest"
	"github.com/fairlead-dev/fairlead/overrides"
	"github.com/fairlead-dev/fairlead/overrides/selection"
	"github.com/fairlead-dev/fairlead/overrides/strictjson"
)

const (
	// maxObject is the greatest size of one rendered object, in bytes. A member's etcd refuses requests of more than 1.5
	// MiB, and the manager adds the marks later.
	maxObject = 1 << 20
	// maxRendering is the greatest total size of all rendered objects, in bytes: 1 MiB from the wrapper and 1 MiB from
	// overrides.
	maxRendering = 2 << 20
)

// Rendering is the rendered objects for one member, or for several members whose objects are equal.
type Rendering struct {
	// Digest is a digest of the identities and digests of all objects, in install order.
	Digest string
	// Objects are sorted in install order.
	Objects []Object

	sum digest.Sum // the same digest as Digest, as bytes
	// base has the wrapper's objects before the overrides. This reference keeps base in memory while the rendering is
	// in use.
	base *base
}

// Renderer renders one generation of a wrapper for any number of members. It is safe for concurrent use. It keeps
// digests and errors, so a second request for a digest renders nothing. It keeps objects only while a caller uses them;
// for the next caller it renders them again from the spec. Make a new Renderer when the wrapper changes.
type Renderer struct {
	namespace string
	set       *overrides.Set
	targets   targets
	// identities are the identities of all objects, in install order. They are the same for every member, because
	// overrides change neither kinds nor names.
	identities []identity

	maxWork int64 // the work limit of a Round, in the units of package overrides

	mu       sync.Mutex
	variants map[variantKey]*Variant

	// reading is locked while a caller decodes raw, the objects of the spec. So two callers do not decode them at the
	// same time.
	reading sync.Mutex
	raw     []runtime.RawExtension
	base    weak.Pointer[base]
}

// base has the objects of a wrapper without overrides, but with the targets of spec.upgrade. All slices are in install
// order.
type base struct {
	objects []*unstructured.Unstructured
	written []Object
	pieces  [][]byte // two entries for each object in written: its identity and its digest
}

// New makes the Renderer of a spec. The Renderer keeps a reference to spec.Objects. The parameter namespace is that of
// a Federated, and objects without a namespace get it; it is "" for a ClusterFederated. A second call for the same spec
// returns the same error. An error about an override is an *overrides.Error.
func New(spec *v1alpha1.WrapperSpec, namespace string) (*Renderer, error) {
	r := &Renderer{namespace: namespace, targets: spec.Upgrade.Targets(), raw: spec.Objects, maxWork: maxWork, variants: make(map[variantKey]*Variant, 1)}
	b, err := r.read()
	if err != nil {
		return nil, err
	}
	for i := range b.written {
		r.identities = append(r.identities, b.written[i].identity())
	}
	if r.set, err = overrides.Compile(spec.Overrides); err != nil {
		return nil, fmt.Errorf("reading overrides: %w", err)
	}
	return r, nil
}

// Objects returns the kinds and names of the objects, in install order. They are the same for every member.
func (r *Renderer) Objects() []ObjectID {
	ids := make([]ObjectID, 0, len(r.identities))
	for _, i := range r.identities {
		ids = append(ids, ObjectID{Group: i.group, Kind: i.kind, Name: i.name})
	}
	return ids
}

// Follow makes the Renderer refer to another copy of the same spec, so that the earlier copy can be freed.
func (r *Renderer) Follow(spec *v1alpha1.WrapperSpec) {
	r.reading.Lock()
	defer r.reading.Unlock()
	r.raw = spec.Objects
}

// read returns the objects of the wrapper. If no other caller uses an earlier result, it decodes them from the spec.
func (r *Renderer) read() (*base, error) {
	r.reading.Lock()
	defer r.reading.Unlock()
	if b := r.base.Value(); b != nil {
		return b, nil
	}
	b := &base{}
	for i := range r.raw {
		obj, err := strictjson.Decode(r.raw[i])
		if err != nil {
			return nil, fmt.Errorf("reading objects[%d]: %w", i, err)
		}
		if err := settle(obj, r.namespace); err != nil {
			return nil, fmt.Errorf("reading objects[%d]: %w", i, err)
		}
		if err := r.targets.set(obj); err != nil {
			return nil, fmt.Errorf("reading objects[%d]: %w", i, err)
		}
		b.objects = append(b.objects, obj)
	}
	slices.SortFunc(b.objects, compare)
	for _, obj := range b.objects {
		o, err := newObject(obj)
		if err != nil {
			return nil, fmt.Errorf("writing %s %s: %w", obj.GetKind(), obj.GetName(), err)
		}
		b.written = append(b.written, o)
		b.pieces = append(b.pieces, o.identity().bytes(), []byte(o.Digest))
	}
	r.base = weak.Make(b)
	return b, nil
}

// settle sets the namespace of the wrapper on an object. Like admission, it refuses an object with another namespace,
// because a wrapper must not write outside its namespace.
func settle(obj *unstructured.Unstructured, namespace string) error {
	if obj.GetAPIVersion() == "" || obj.GetKind() == "" || obj.GetName() == "" {
		return errors.New("the object needs apiVersion, kind and metadata.name")
	}
	switch obj.GetNamespace() {
	case namespace:
	case "":
		obj.SetNamespace(namespace)
	default:
		if namespace == "" {
			return fmt.Errorf("%s %s has metadata.namespace %q: a ClusterFederated holds cluster-scoped objects; put namespaced objects into a Federated in that namespace",
				obj.GetKind(), obj.GetName(), obj.GetNamespace())
		}
		return fmt.Errorf("%s %s has metadata.namespace %q: the objects of a wrapper go into its own namespace, %s",
			obj.GetKind(), obj.GetName(), obj.GetNamespace(), namespace)
	}
	return nil
}

// render makes the rendering for a member. work is the cost of applying the overrides and encoding the objects.
func (r *Renderer) render(m selection.Member) (out *Rendering, work int64, err error) {
	b, err := r.read()
	if err != nil {
		return nil, 0, err
	}
	tailored, work, err := r.set.Apply(b.objects, m)
	if err != nil {
		return nil, work, err
	}
	out, own, err := b.write(tailored)
	return out, work + workPerByte*int64(own), err
}

// write makes a Rendering from tailored, the objects after the overrides. own is the size, in bytes, of the objects
// that the overrides changed: other renderings do not share these.
func (b *base) write(tailored []*unstructured.Unstructured) (out *Rendering, own int, err error) {
	out = &Rendering{Objects: slices.Clone(b.written), base: b}
	pieces := slices.Clone(b.pieces)
	total := 0
	for i, obj := range tailored {
		o := &out.Objects[i]
		if obj != b.objects[i] {
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
		return nil, own, fmt.Errorf("after the overrides the objects have %d KiB together, and %d KiB is the limit", total>>10, maxRendering>>10)
	}
	out.sum = digest.SumOf(pieces...)
	out.Digest = out.sum.String()
	return out, own, nil
}

// bounded returns an error if the overrides made an object larger or deeper than a member accepts.
func bounded(o *Object) error {
	if len(o.JSON) > maxObject {
		return fmt.Errorf("after the overrides %s has %d KiB, and %d KiB is the limit", o, len(o.JSON)>>10, maxObject>>10)
	}
	if depth := strictjson.Depth(o.JSON); depth > strictjson.MaxDepth {
		return fmt.Errorf("after the overrides %s is nested %d deep, and %d is the limit", o, depth, strictjson.MaxDepth)
	}
	return nil
}
