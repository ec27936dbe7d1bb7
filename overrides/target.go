// SPDX-License-Identifier: Apache-2.0

package overrides

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// match returns the indexes of the objects that a target matches. It returns an error if the target matches none.
func match(target *v1alpha1.OverrideTarget, objects []*unstructured.Unstructured) ([]int, error) {
	if target.Kind == "" {
		return nil, errors.New("kind is missing: give the kind of the objects that the override changes; the wrapper holds " + holds(objects))
	}
	var matched []int
	var groups []string
	for i, obj := range objects {
		gvk := obj.GroupVersionKind()
		if gvk.Kind != target.Kind || (target.Group != nil && *target.Group != gvk.Group) {
			continue
		}
		if !slices.Contains(groups, gvk.Group) {
			groups = append(groups, gvk.Group)
		}
		if target.Name == "" || target.Name == obj.GetName() {
			matched = append(matched, i)
		}
	}
	switch {
	case len(groups) > 1:
		slices.Sort(groups)
		for i := range groups {
			groups[i] = strconv.Quote(groups[i])
		}
		return nil, fmt.Errorf("the wrapper has the kind %s from several API groups: set group to one of %s", target.Kind, strings.Join(groups, ", "))
	case len(matched) == 0:
		return nil, errors.New("the wrapper has no object that is " + describe(target) + "; the wrapper holds " + holds(objects))
	}
	return matched, nil
}

func describe(target *v1alpha1.OverrideTarget) string {
	text := "a " + target.Kind
	if target.Group != nil {
		text += fmt.Sprintf(" of group %q", *target.Group)
	}
	if target.Name != "" {
		text += fmt.Sprintf(" named %q", target.Name)
	}
	return text
}

// holds lists the kinds and names of the first objects of the wrapper. Errors show the list as a hint.
func holds(objects []*unstructured.Unstructured) string {
	const most = 8
	var names []string
	for _, obj := range objects {
		if len(names) == most {
			names = append(names, fmt.Sprintf("%d more", len(objects)-most))
			break
		}
		names = append(names, obj.GetKind()+" "+obj.GetName())
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

func isSecret(obj *unstructured.Unstructured) bool {
	gvk := obj.GroupVersionKind()
	return gvk.Group == "" && gvk.Kind == "Secret"
}
