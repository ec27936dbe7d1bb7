// SPDX-License-Identifier: Apache-2.0

package author

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Scope reports whether objects of a kind live in a namespace.
type Scope string

// The scopes. The zero value is no scope: it means "not known".
const (
	Namespaced    Scope = "Namespaced"
	ClusterScoped Scope = "Cluster"
)

// scopes finds the scope of the kinds of one input.
type scopes struct {
	// said are the scopes from flags, defined those of the CRDs in the input. For a kind that is in both, said decides.
	said, defined map[schema.GroupKind]Scope
	// lookup asks an API server that serves the kinds; nil when there is none.
	lookup func(schema.GroupVersionKind) (Scope, error)
}

// newScopes reads the scopes from the CustomResourceDefinitions of the input.
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

// scopeOf returns the scope of a manifest's kind. Its error tells the author how to give the scope.
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
	// No kind of cluster scope has objects with a namespace, so the author knew the scope.
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

// name returns the kind in the form of the flags: KIND.GROUP.
func name(gk schema.GroupKind) string {
	if gk.Group == "" {
		return gk.Kind
	}
	return gk.Kind + "." + gk.Group
}
