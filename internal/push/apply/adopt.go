// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"sort"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/marks"
	"github.com/fairlead-dev/fairlead/internal/member"
	"github.com/fairlead-dev/fairlead/internal/push/memberapi"
)

// compareForAdoption finds out whether the pass may adopt an object of another client. It may if an apply of the
// desired object would change nothing but Fairlead's marks. A dry run of that apply shows what would change.
func (l *looker) compareForAdoption(
	ctx context.Context, it *item, found *metav1.PartialObjectMetadata,
) (claim, *metav1.PartialObjectMetadata, error) {
	body, err := l.objects.stamped(it, found.UID, found.ResourceVersion)
	if err != nil {
		return 0, nil, err
	}
	before, err := l.objects.read(ctx, it)
	if err == nil {
		var after *unstructured.Unstructured
		if after, err = l.objects.dryRun(ctx, it, body); err == nil {
			differing := differences(before.Object, after.Object)
			if len(differing) == 0 {
				return adoptable, found, nil
			}
			l.trouble.Add(memberapi.Stalled(v1alpha1.ReasonObjectExists,
				"%s exists on the member already (%s) and differs from the wrapper's object in %s: make the two equal, so that the manager adopts it",
				it, managedBy(found), strings.Join(differing, ", ")))
			return taken, found, nil
		}
	}
	if memberapi.AnsweredAbout(it.entry.Group, err) {
		l.trouble.Add(memberapi.Explain("comparing", it.String(), err))
		return taken, found, nil
	}
	return 0, nil, fmt.Errorf("comparing %s on member %s with the wrapper's object: %w", it, l.conn.Name(), err)
}

// adopt takes over an object of another client without a change of its content:
//
//  1. It records the adoption in the Delivery.
//  2. It sets AnnotationAdopted on the object.
//  3. It applies the object, which sets the other marks.
//
// The order matters: an object with only the other marks would look as if Fairlead had created it, and Fairlead might
// later delete it. again reports that another client changed the object meanwhile.
func (a *applier) adopt(ctx context.Context, it *item, found *metav1.PartialObjectMetadata) (again bool, err error) {
	it.entry.Adopted, it.entry.UID = v1alpha1.AdoptedYes, found.UID
	if err := a.note(ctx); err != nil {
		return false, err
	}
	version := found.ResourceVersion
	if !marks.IsAdopted(found, it.mark()) {
		version, err = a.adoption.mark(ctx, it, version)
		switch {
		case err != nil && (apierrors.IsNotFound(err) || isAnother(err)):
			return true, nil
		case err != nil:
			return false, a.refusals.refused(ctx, it, "", err)
		}
	}
	return a.applyOver(ctx, it, found.UID, version)
}

// adoptedManager is the field manager of the patch that sets AnnotationAdopted. It is not the field manager of the
// applies: these do not send the annotation, so a later apply by the same field manager would remove it.
const adoptedManager = v1alpha1.FieldManager + "-adopted"

// adoption makes the requests that set AnnotationAdopted on objects of other clients, and remove it.
type adoption struct{ objects *objects }

// mark sets AnnotationAdopted on the object with the entry's uid, and returns the object's new resourceVersion.
// If version is not "", the API server refuses the patch unless the object has this resourceVersion.
func (a *adoption) mark(ctx context.Context, it *item, version string) (string, error) {
	metadata := map[string]any{"uid": it.entry.UID, "annotations": map[string]any{v1alpha1.AnnotationAdopted: it.mark()}}
	if version != "" {
		metadata["resourceVersion"] = version
	}
	body, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return "", fmt.Errorf("encoding the annotation that marks an object as adopted: %w", err)
	}
	answer, err := member.Do(ctx, a.objects.conn.REST().Patch(types.MergePatchType).AbsPath(it.path()...).
		Param("fieldManager", adoptedManager).Body(body), true)
	if err != nil {
		return "", err
	}
	marked := &metav1.PartialObjectMetadata{}
	// These are two statements, because Go does not define whether one statement would read marked.ResourceVersion before Into
	// fills it.
	err = answer.Into(marked)
	return marked.ResourceVersion, err
}

// markAgain sets AnnotationAdopted on an adopted object that lacks it: an earlier version of Fairlead adopted the
// object, or another client removed the annotation. If the API server refuses that, markAgain reports nothing, because
// the Delivery also records the adoption.
func (a *adoption) markAgain(ctx context.Context, it *item) error {
	version, err := a.mark(ctx, it, "")
	switch {
	case err == nil:
		it.version = version
	case !memberapi.AnsweredAbout(it.entry.Group, err):
		return fmt.Errorf("marking %s on member %s as adopted: %w", it, a.objects.conn.Name(), err)
	}
	return nil
}

// disclaim undoes an adoption that the method adopt has begun, when the object turns out to belong to another client
// after all. It removes the marks from the object and the object's uid from the entry, because Fairlead may later
// remove an object whose uid is in an entry.
func (a *adoption) disclaim(ctx context.Context, it *item, found *metav1.PartialObjectMetadata) error {
	if marks.IsAdopted(found, it.mark()) {
		err := memberapi.Release(ctx, a.objects.conn, it.path(), found)
		if err != nil && !memberapi.AnsweredAbout(it.entry.Group, err) {
			return fmt.Errorf("releasing %s on member %s: %w", it, a.objects.conn.Name(), err)
		}
	}
	it.entry.UID, it.entry.Fields, it.entry.Adopted = "", "", ""
	return nil
}

// differences returns the paths of the fields that differ between two states of an object. A path has at most two
// levels, for example ".spec.replicas". differences ignores Fairlead's marks, managedFields, resourceVersion and
// generation. It returns at most five paths, and then a text with the number of further paths.
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

// plainMetadata returns an object's metadata without Fairlead's marks, managedFields, resourceVersion and generation.
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
		if k != v1alpha1.LabelUID && !slices.Contains(marks.Annotations, k) {
			rest[k] = v
		}
	}
	return rest
}
