// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"sort"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/member"
	"github.com/fairlead-dev/fairlead/internal/push/memberapi"
)

// compareForAdoption adopts a foreign object if the apply would change only Fairlead's marks. A dry run of the same
// apply shows that.
func (l *looker) compareForAdoption(
	ctx context.Context, it *item, found *metav1.PartialObjectMetadata,
) (claim, *metav1.PartialObjectMetadata, error) {
	body, err := l.objects.stamped(it, found.UID, found.ResourceVersion)
	if err != nil {
		return 0, nil, err
	}
	before, err := l.objects.whole(ctx, it)
	if err == nil {
		var after *unstructured.Unstructured
		if after, err = l.objects.rehearse(ctx, it, body); err == nil {
			differing := differences(before.Object, after.Object)
			if len(differing) == 0 {
				return adoptable, found, nil
			}
			l.trouble.Add(memberapi.Stalled(v1alpha1.ReasonObjectExists,
				"%s is there already (%s) and differs from yours in %s: make them equal to adopt it",
				it, managedBy(found), strings.Join(differing, ", ")))
			return taken, found, nil
		}
	}
	if memberapi.AnsweredAbout(it.entry.Group, err) {
		l.trouble.Add(memberapi.Explain("comparing", it.String(), err))
		return taken, found, nil
	}
	return 0, nil, fmt.Errorf("comparing %s on member %s: %w", it, l.conn.Name(), err)
}

// differences are the paths, two levels deep, at which two states of an object differ. Fairlead's marks and the
// server's own bookkeeping do not count. It returns the first five.
func differences(before, after map[string]any) []string {
	var found []string
	for _, key := range keysOf(before, after) {
		a, b := before[key], after[key]
		if key == "metadata" {
			a, b = plainMetadata(a), plainMetadata(b)
		}
		if reflect.DeepEqual(a, b) {
			continue
		}
		left, okLeft := a.(map[string]any)
		right, okRight := b.(map[string]any)
		if !okLeft || !okRight {
			found = append(found, "."+key)
			continue
		}
		for _, inner := range keysOf(left, right) {
			if !reflect.DeepEqual(left[inner], right[inner]) {
				found = append(found, "."+key+"."+inner)
			}
		}
	}
	if len(found) > 5 {
		found = append(found[:5], fmt.Sprintf("and %d more", len(found)-5))
	}
	return found
}

func keysOf(maps ...map[string]any) []string {
	seen := make(map[string]bool)
	var keys []string
	for _, m := range maps {
		for k := range m {
			if !seen[k] {
				seen[k] = true
				keys = append(keys, k)
			}
		}
	}
	sort.Strings(keys)
	return keys
}

// plainMetadata is metadata without Fairlead's marks and without the fields that the server counts by itself.
func plainMetadata(value any) any {
	meta, ok := value.(map[string]any)
	if !ok {
		return value
	}
	plain := make(map[string]any, len(meta))
	for k, v := range meta {
		switch k {
		case "managedFields", "resourceVersion", "generation":
		case "labels", "annotations":
			if rest := withoutMarks(v); len(rest) > 0 {
				plain[k] = rest
			}
		default:
			plain[k] = v
		}
	}
	return plain
}

func withoutMarks(value any) map[string]any {
	all, _ := value.(map[string]any) // labels and annotations are maps, or absent
	rest := make(map[string]any, len(all))
	for k, v := range all {
		switch k {
		case v1alpha1.LabelUID, v1alpha1.AnnotationWrapper, v1alpha1.AnnotationObject, v1alpha1.AnnotationRendering:
		default:
			rest[k] = v
		}
	}
	return rest
}

// onlyOurs reports whether Fairlead is the only client that has written an object.
func onlyOurs(found *metav1.PartialObjectMetadata) bool {
	for i := range found.ManagedFields {
		if e := &found.ManagedFields[i]; e.Subresource == "" && e.Manager != v1alpha1.FieldManager {
			return false
		}
	}
	return len(found.ManagedFields) > 0
}

// takeBack undoes an apply that was merged into another client's object. An empty apply removes the fields that only
// Fairlead owns, and the marks. If other fields depend on them by now, the API server refuses that; takeBack then
// gives up ownership and leaves the values.
func (a *applier) takeBack(ctx context.Context, it *item, merged *metav1.PartialObjectMetadata) error {
	nothing, err := json.Marshal(map[string]any{
		"apiVersion": it.object.GVK.GroupVersion().String(),
		"kind":       it.object.GVK.Kind,
		"metadata":   map[string]any{"name": it.object.Name, "namespace": it.object.Namespace, "uid": merged.UID},
	})
	if err != nil {
		return fmt.Errorf("encoding nothing: %w", err)
	}
	_, err = member.Do(ctx, a.objects.request(it, nothing, true), true)
	switch {
	case err == nil || isAnother(err):
		return nil
	case !memberapi.AnsweredAbout(it.entry.Group, err):
		return err
	}
	if err = memberapi.Release(ctx, a.conn, it.path(), merged); apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
