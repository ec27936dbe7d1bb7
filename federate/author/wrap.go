// SPDX-License-Identifier: Apache-2.0

package author

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/overrides"
)

// Options are the settings of Wrap.
type Options struct {
	// Namespace is the namespace for namespaced objects whose manifest has none; "" makes such an object an error.
	Namespace string
	// Bundle is the name of the wrappers if Wrap shall put several objects into one wrapper. Wrap then makes one wrapper
	// for each namespace, and one for all cluster-scoped objects. With "", each object gets a wrapper of its own.
	Bundle string
	// Clusters is the placement of all wrappers. With nil the output has a Placeholder, and admission refuses the
	// wrapper.
	Clusters *v1alpha1.ClusterSelection
	// Scopes are the scopes that the author has given for kinds. They take precedence over all other sources of scopes.
	Scopes map[schema.GroupKind]Scope
	// HasNamespace reports whether a namespace exists on the host; nil if hostctl is not connected to the host.
	HasNamespace func(namespace string) (bool, error)
	// Lookup asks an API server for the scope of a kind if no other source has it; nil if hostctl is not connected to
	// an API server.
	Lookup func(schema.GroupVersionKind) (Scope, error)
}

// Wrapper is a Federated or ClusterFederated as Wrap makes it.
type Wrapper struct {
	Kind            v1alpha1.WrapperKind
	Namespace, Name string
	// Objects are sanitized, and sorted by kind and name. They have no metadata.namespace, because the namespace of the
	// wrapper applies to them.
	Objects []*unstructured.Unstructured
	// Clusters is the placement; nil if the author gave none.
	Clusters *v1alpha1.ClusterSelection
	// Overrides come from a KubeFed object; nil if the object came from a plain manifest.
	Overrides []v1alpha1.Override
}

// Spec returns the wrapper's spec as a type of the API.
func (w *Wrapper) Spec() (*v1alpha1.WrapperSpec, error) {
	spec := &v1alpha1.WrapperSpec{Placement: v1alpha1.Placement{Clusters: w.Clusters}, Overrides: w.Overrides}
	if w.Clusters == nil {
		spec.Placement.Clusters = &v1alpha1.ClusterSelection{}
	}
	for _, object := range w.Objects {
		raw, err := json.Marshal(object.Object)
		if err != nil {
			return nil, fmt.Errorf("encoding %s %s: %w", object.GetKind(), object.GetName(), err)
		}
		spec.Objects = append(spec.Objects, runtime.RawExtension{Raw: raw})
	}
	return spec, nil
}

// item is a manifest that Wrap has prepared for a wrapper.
type item struct {
	Manifest
	scope Scope
	size  int
}

func (i *item) gk() schema.GroupKind { return i.Object.GroupVersionKind().GroupKind() }

// Wrap makes wrappers from manifests: it sanitizes the objects, and divides them by scope and namespace. The order of
// the wrappers does not depend on the order of the input. The notes are about removed fields, settings that the author
// may not intend, and bundles that did not fit into one wrapper.
func Wrap(manifests []Manifest, options Options) ([]*Wrapper, []Note, error) {
	items, notes, err := prepare(manifests, options)
	if err != nil {
		return nil, nil, err
	}
	slices.SortStableFunc(items, func(a, b *item) int {
		return cmp.Or(
			cmp.Compare(rank(a.gk()), rank(b.gk())),
			cmp.Compare(a.gk().Group, b.gk().Group),
			cmp.Compare(a.gk().Kind, b.gk().Kind),
			cmp.Compare(a.Object.GetNamespace(), b.Object.GetNamespace()),
			cmp.Compare(a.Object.GetName(), b.Object.GetName()),
		)
	})
	var wrappers []*Wrapper
	if options.Bundle != "" {
		// An object from a KubeFed object has a placement of its own. So it gets a wrapper of its own, even with
		// Bundle.
		var bundled, own []*item
		for _, i := range items {
			if i.kubeFed == nil {
				bundled = append(bundled, i)
			} else {
				own = append(own, i)
			}
		}
		var split []Note
		wrappers, split = bundles(bundled, options.Bundle)
		wrappers = append(wrappers, singles(own)...)
		notes = append(notes, split...)
	} else {
		wrappers = singles(items)
	}
	missing, err := hostNamespaceNotes(items, wrappers, options.HasNamespace)
	if err != nil {
		return nil, nil, err
	}
	notes = append(notes, missing...)
	for _, w := range wrappers {
		if w.Clusters == nil {
			w.Clusters = options.Clusters
		}
		for _, object := range w.Objects {
			object.SetNamespace("")
		}
	}
	return wrappers, notes, nil
}

// prepare makes an item from each manifest: it determines scope and namespace, sanitizes the object and checks the
// result.
func prepare(manifests []Manifest, options Options) ([]*item, []Note, error) {
	scopes := newScopes(manifests, options.Scopes, options.Lookup)
	var items []*item
	var settled []Manifest
	var notes []Note
	found := &faults{}
	for _, m := range manifests {
		i, texts, err := settle(m, scopes, options)
		if err != nil {
			found.add(err)
			continue
		}
		for _, text := range texts {
			notes = append(notes, Note{Where: m.Where, Text: text})
		}
		items, settled = append(items, i), append(settled, i.Manifest)
	}
	distinct(settled, found)
	if err := found.err(); err != nil {
		return nil, nil, err
	}
	return items, append(notes, Lint(settled)...), nil
}

// settle determines the scope and the namespace of a manifest, sanitizes the object, and checks that a wrapper may hold it. The
// texts that it returns are notes about what it left out.
func settle(m Manifest, scopes *scopes, options Options) (*item, []string, error) {
	scope, err := scopes.scopeOf(m)
	if err != nil {
		return nil, nil, err
	}
	clean, texts := Sanitize(m.Object)
	m.Object = clean
	switch namespace := clean.GetNamespace(); {
	case scope == ClusterScoped && namespace != "":
		texts = append(texts, fmt.Sprintf("metadata.namespace %s left out: %s is cluster-scoped", namespace, clean.GetKind()))
		clean.SetNamespace("")
	case scope == Namespaced && namespace == "" && options.Namespace == "":
		return nil, nil, &Error{Where: m.Where, Field: "metadata.namespace",
			Text: "is missing. Set it in the manifest, or give --namespace for all objects without a namespace"}
	case scope == Namespaced && namespace == "":
		clean.SetNamespace(options.Namespace)
	}
	i := &item{Manifest: m, scope: scope}
	if i.size, err = sizeOf(m); err != nil {
		return nil, nil, err
	}
	return i, texts, admissible(i)
}

// admissible checks one object with overrides.Validate, which admission also uses. It puts the object alone into a
// wrapper, so that the error can name the object's place in the input.
func admissible(i *item) error {
	everywhere := &v1alpha1.ClusterSelection{Selectors: []metav1.LabelSelector{{}}}
	alone := &Wrapper{Objects: []*unstructured.Unstructured{i.Object}, Clusters: everywhere}
	spec, err := alone.Spec()
	if err != nil {
		return err
	}
	if namespace := i.Object.GetNamespace(); strings.HasPrefix(namespace, "kube-") {
		return &Error{Where: i.Where, Field: "metadata.namespace", Text: fmt.Sprintf("Fairlead federates nothing into %s, which belongs to Kubernetes on each "+
			"member: give the object another namespace (in the subjects of bindings too), or leave it out and install it on the members in another way", namespace)}
	}
	found := &faults{}
	for _, err := range overrides.Validate(spec, i.Object.GetNamespace(), wrapperKind(i.scope)) {
		field := strings.TrimPrefix(strings.TrimPrefix(err.Field, "spec.objects[0]"), ".")
		found.add(&Error{Where: i.Where, Field: field, Text: cmp.Or(err.Detail, err.ErrorBody())})
	}
	return found.err()
}

func sizeOf(m Manifest) (int, error) {
	data, err := json.Marshal(m.Object.Object)
	if err != nil {
		return 0, fmt.Errorf("encoding %s: %w", m.Where, err)
	}
	if len(data) > MaxBytes {
		return 0, &Error{Where: m.Where, Text: fmt.Sprintf("the object has %d bytes, but a wrapper holds at most 1 MiB, and an object cannot be split", len(data))}
	}
	return len(data), nil
}

// distinct reports an object that occurs twice in the input, because a wrapper can hold only one of the two.
func distinct(manifests []Manifest, found *faults) {
	type identity struct {
		schema.GroupKind
		namespace, name string
	}
	seen := make(map[identity]Where, len(manifests))
	for _, m := range manifests {
		id := identity{m.Object.GroupVersionKind().GroupKind(), m.Object.GetNamespace(), m.Object.GetName()}
		if first, twice := seen[id]; twice {
			found.add(&Error{Where: m.Where, Text: fmt.Sprintf("is in the input twice, first in %s: remove one of them", first)})
			continue
		}
		seen[id] = m.Where
	}
}

func wrapperKind(scope Scope) v1alpha1.WrapperKind {
	if scope == ClusterScoped {
		return v1alpha1.KindClusterFederated
	}
	return v1alpha1.KindFederated
}

// singles makes a wrapper for each object, named after the object.
func singles(items []*item) []*Wrapper {
	names := wrapperNames(items)
	wrappers := make([]*Wrapper, 0, len(items))
	for n, i := range items {
		w := &Wrapper{
			Kind: wrapperKind(i.scope), Namespace: i.Object.GetNamespace(), Name: names[n],
			Objects: []*unstructured.Unstructured{i.Object},
		}
		if i.kubeFed != nil {
			w.Clusters, w.Overrides = i.kubeFed.clusters, i.kubeFed.overrides
		}
		wrappers = append(wrappers, w)
	}
	return wrappers
}

// bundles makes one wrapper for all cluster-scoped objects, and one for the objects of each namespace. When a wrapper is
// full, bundles begins another wrapper and adds a note.
func bundles(items []*item, name string) ([]*Wrapper, []Note) {
	var notes []Note
	var wrappers []*Wrapper
	byNamespace := slices.Clone(items)
	// Cluster-scoped objects have namespace "" and come first.
	slices.SortStableFunc(byNamespace, func(a, b *item) int { return cmp.Compare(a.Object.GetNamespace(), b.Object.GetNamespace()) })
	var current *Wrapper
	size, part := 0, 1
	for _, i := range byNamespace {
		namespace := i.Object.GetNamespace()
		switch {
		case current == nil || current.Namespace != namespace:
			current, size, part = &Wrapper{Kind: wrapperKind(i.scope), Namespace: namespace, Name: name}, 0, 1
			wrappers = append(wrappers, current)
		case len(current.Objects) == MaxObjects || size+i.size > MaxBytes:
			part++
			full := current
			current, size = &Wrapper{Kind: full.Kind, Namespace: namespace, Name: partName(name, part)}, 0
			wrappers = append(wrappers, current)
			notes = append(notes, Note{Text: fmt.Sprintf("%s %s is full with %d objects (a wrapper holds at most %d, and 1 MiB): the rest is in %s",
				full.Kind, full.Name, len(full.Objects), MaxObjects, current.Name)})
		}
		current.Objects = append(current.Objects, i.Object)
		size += i.size
	}
	return wrappers, notes
}
