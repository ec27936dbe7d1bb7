// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"slices"

	"github.com/google/go-cmp/cmp"
)

// keepPolicy is an annotation. If its value is keep, `helm uninstall` does not delete the object.
const (
	keepPolicy = "helm.sh/resource-policy"
	keep       = "keep"
)

// kept are the kinds of objects that `helm uninstall` must not delete. If it deleted them, all wrappers, the members' credentials and the
// key of the seals would be gone.
var kept = []string{"CustomResourceDefinition", "Namespace"}

// compare returns the differences between the objects that kustomize and Helm render. The order of the objects does not matter. The
// chart's objects of the kinds in the variable kept must have the annotation keepPolicy. No other object may have it.
func compare(fromKustomize, fromHelm []object) (differences []string) {
	left, twice := byKey(fromKustomize)
	for _, key := range twice {
		differences = append(differences, key+": kustomize renders it twice")
	}
	right, twice := byKey(fromHelm)
	for _, key := range twice {
		differences = append(differences, key+": the chart renders it twice")
	}
	for _, key := range slices.Sorted(maps.Keys(right)) {
		kind, _ := right[key].content["kind"].(string)
		policy := takePolicy(right[key])
		if slices.Contains(kept, kind) && policy != keep {
			differences = append(differences, fmt.Sprintf("%s: the chart lacks the annotation %s=%s, so `helm uninstall` would delete the object", key, keepPolicy, keep))
		}
		if !slices.Contains(kept, kind) && policy != nil {
			differences = append(differences, fmt.Sprintf("%s: the chart sets the annotation %s=%v, so `helm uninstall` would leave this object behind; remove the annotation", key, keepPolicy, policy))
		}
		if _, ok := left[key]; !ok {
			differences = append(differences, key+": only the chart renders it")
		}
	}
	for _, key := range slices.Sorted(maps.Keys(left)) {
		other, ok := right[key]
		if !ok {
			differences = append(differences, key+": only kustomize renders it")
			continue
		}
		if diff := cmp.Diff(left[key].content, other.content); diff != "" {
			differences = append(differences, fmt.Sprintf("%s (-kustomize +helm):\n%s", key, diff))
		}
	}
	return differences
}

func byKey(objects []object) (all map[string]object, twice []string) {
	all = make(map[string]object, len(objects))
	for _, o := range objects {
		if _, ok := all[o.key()]; ok {
			twice = append(twice, o.key())
		}
		all[o.key()] = o
	}
	return all, twice
}

// takePolicy removes the annotation keepPolicy from an object, and returns the annotation's value.
func takePolicy(o object) any {
	annotations, _ := o.metadata()["annotations"].(map[string]any)
	policy := annotations[keepPolicy]
	delete(annotations, keepPolicy)
	if annotations != nil && len(annotations) == 0 {
		delete(o.metadata(), "annotations")
	}
	return policy
}
