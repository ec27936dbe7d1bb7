// SPDX-License-Identifier: Apache-2.0

package selection

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// Member is the part of a MemberCluster that overrides and placement use.
type Member struct {
	Name   string
	Labels map[string]string
}

// Selection is a compiled ClusterSelection, for use with many members.
type Selection struct {
	every     bool
	names     map[string]struct{}
	selectors []labels.Selector
}

// New compiles a ClusterSelection. A nil selection selects every member, an empty one selects none. If a selector does
// not parse, the error names it.
func New(s *v1alpha1.ClusterSelection) (Selection, error) {
	if s == nil {
		return Selection{every: true}, nil
	}
	out := Selection{}
	if len(s.Names) > 0 {
		out.names = make(map[string]struct{}, len(s.Names))
		for _, name := range s.Names {
			out.names[name] = struct{}{}
		}
	}
	for i := range s.Selectors {
		selector, err := metav1.LabelSelectorAsSelector(&s.Selectors[i])
		if err != nil {
			return Selection{}, fmt.Errorf("reading selectors[%d]: %w", i, err)
		}
		out.selectors = append(out.selectors, selector)
	}
	return out, nil
}

// Selects reports whether the selection names the member, or one of its selectors matches it.
func (s Selection) Selects(m Member) bool {
	if s.every {
		return true
	}
	if _, named := s.names[m.Name]; named {
		return true
	}
	for _, selector := range s.selectors {
		if selector.Matches(labels.Set(m.Labels)) {
			return true
		}
	}
	return false
}
