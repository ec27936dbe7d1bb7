// SPDX-License-Identifier: Apache-2.0

package author

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Scope is Namespaced or Cluster: whether objects of a kind are in a namespace.
type Scope string

// The scopes. The zero value "" means that the scope is unknown.
const (
	Namespaced    Scope = "Namespaced"
	ClusterScoped Scope = "Cluster"
)

// scopes determines the scopes of the kinds in one input.
type scopes struct {
	// said has the scopes that the author gave with flags. defined has the scopes from the CRDs in the input. If both
	// have a kind, said takes precedence.
	said, defined map[schema.GroupKind]Scope
	// lookup asks an API server for the scope of a kind; nil if there is no API server to ask.
	lookup func(schema.GroupVersionKind) (Scope, error)
}

// newScopes makes the scopes of an input. It reads the CustomResourceDefinitions among the manifests.
func newScopes(manifests []Manifest, said map[schema.GroupKind]Scope, lookup func(schema.GroupVersionKind) (Scope, error)) *scopes {
	s := &scopes{said: said, defined: map[schema.GroupKind]Scope{}, lookup: lookup}
	for _, m := range manifests {
		if m.Object.GroupVersionKind().GroupKind() != of("apiextensions.k8s.io", "CustomResourceDefinition") {
			continue
		}
		gk := of(textAt(m.Object.Object, "spec", "group"), textAt(m.Object.Object, "spec", "names", "kind"))
		switch scope := Scope(textAt(m.Object.Object, "spec", "scope")); scope {
		case Namespaced, ClusterScoped:
			s.defined[gk] = scope
		}
	}
	return s
}

// scopeOf returns the scope of a manifest's kind. If no source has the scope, the error tells the author how to give
// it.
func (s *scopes) scopeOf(m Manifest) (Scope, error) {
	gvk := m.Object.GroupVersionKind()
	gk := gvk.GroupKind()
	if scope, found := s.said[gk]; found {
		return scope, nil
	}
	if scope, found := s.defined[gk]; found {
		return scope, nil
	}
	if scope := builtIn(gk); scope != "" {
		return scope, nil
	}
	// Only a namespaced object has metadata.namespace, so with this field the author has given the scope.
	if m.Object.GetNamespace() != "" {
		return Namespaced, nil
	}
	if s.lookup != nil {
		scope, err := s.lookup(gvk)
		if err != nil {
			return "", fmt.Errorf("reading %s: asking for the scope of %s: %w", m.Where, gk, err)
		}
		return scope, nil
	}
	return "", &Error{Where: m.Where, Field: "kind", Text: fmt.Sprintf(
		"%s is not known here, so hostctl needs its scope: give --namespaced %s or --cluster-scoped %s "+
			"(or set metadata.namespace, add its CRD to the input, or give --kubeconfig or --context to ask the host)", gk.Kind, name(gk), name(gk))}
}

// name returns the kind as the flags take it: KIND.GROUP.
func name(gk schema.GroupKind) string {
	if gk.Group == "" {
		return gk.Kind
	}
	return gk.Kind + "." + gk.Group
}
