// SPDX-License-Identifier: Apache-2.0

package selection

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// Member is the name and the labels of a MemberCluster. Selections and overrides need no more of a member.
type Member struct {
	Name   string
	Labels map[string]string
}

// Selection is a compiled ClusterSelection. It can be used for many members.
type Selection struct {
	every     bool
	names     map[string]struct{}
	selectors []labels.Selector
}

// New compiles a ClusterSelection. nil selects every member, and a ClusterSelection without names and selectors selects none. The error for an invalid
// selector has its index.
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

// Selects reports whether the selection names the member, or one of the selectors matches the member's labels.
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
