// SPDX-License-Identifier: Apache-2.0

package connect

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/messages"
)

// ParseKind reads the kind of a wrapper as a person writes it: fed or federated, cfed or clusterfederated, also in the plural and in
// any case.
func ParseKind(text string) (kind v1alpha1.WrapperKind, ok bool) {
	switch strings.ToLower(text) {
	case "fed", "federated", "federateds":
		return v1alpha1.KindFederated, true
	case "cfed", "clusterfederated", "clusterfederateds":
		return v1alpha1.KindClusterFederated, true
	}
	return "", false
}

// Wrapper reads a wrapper from the host. The namespace of a ClusterFederated is "". If the wrapper does not exist, the error has the
// names that are similar.
func Wrapper(ctx context.Context, host client.Client, kind v1alpha1.WrapperKind, namespace, name string) (v1alpha1.Wrapper, error) {
	var w v1alpha1.Wrapper = &v1alpha1.Federated{}
	if kind == v1alpha1.KindClusterFederated {
		w = &v1alpha1.ClusterFederated{}
	}
	key := client.ObjectKey{Namespace: namespace, Name: name}
	err := host.Get(ctx, key, w.(client.Object)) //nolint:forcetypeassert // both wrappers are client.Objects
	if apierrors.IsNotFound(err) {
		where := ""
		if kind == v1alpha1.KindFederated {
			where = fmt.Sprintf(" in namespace %s (for another namespace give -n NAMESPACE, for a ClusterFederated cfed/NAME)", namespace)
		}
		if names := similar(ctx, host, kind, namespace, name); len(names) > 0 {
			where += "; similar names: " + messages.Few(names, maxSimilar)
		}
		return nil, fmt.Errorf("there is no %s %s%s", kind, name, where)
	}
	if err != nil {
		return nil, fmt.Errorf("getting %s %s from the host: %w", kind, name, err)
	}
	return w, nil
}

// maxSimilar is the largest number of similar names in an error.
const maxSimilar = 5

// similar returns the names of wrappers that are similar to name. It returns none if the user may not list the wrappers.
func similar(ctx context.Context, host client.Client, kind v1alpha1.WrapperKind, namespace, name string) []string {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(string(kind) + "List"))
	if err := host.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return nil
	}
	var names []string
	for i := range list.Items {
		other := list.Items[i].Name
		if strings.Contains(other, name) || strings.Contains(name, other) || distance(name, other) <= max(1, len(name)/3) {
			names = append(names, other)
		}
	}
	slices.Sort(names)
	return names
}

// distance is the Levenshtein distance: how many characters have to be added, left out or replaced to make b from a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
