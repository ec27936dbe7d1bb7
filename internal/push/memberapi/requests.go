// SPDX-License-Identifier: Apache-2.0

package memberapi

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/marks"
	"github.com/fairlead-dev/fairlead/internal/member"
)

// Metadata reads an object's metadata.
func Metadata(ctx context.Context, conn *member.Conn, path []string) (*metav1.PartialObjectMetadata, error) {
	answer, err := member.Do(ctx, conn.REST().Get().AbsPath(path...), true)
	if err != nil {
		return nil, err
	}
	found := &metav1.PartialObjectMetadata{}
	if err := answer.Into(found); err != nil {
		return nil, err
	}
	if found.UID == "" || found.Name != path[len(path)-1] {
		return nil, fmt.Errorf("reading %s: the answer is another object: is spec.endpoint that of a Kubernetes API server?", strings.Join(path, "/"))
	}
	return found, nil
}

// IsBuiltIn reports whether a kind is Kubernetes' own. The API server itself serves such a kind, and the effect of deleting
// its objects is known.
func IsBuiltIn(gk schema.GroupKind) bool {
	return member.Scheme.IsGroupRegistered(gk.Group) || gk.Group == "apiextensions.k8s.io" || gk.Group == "apiregistration.k8s.io"
}

// CRDPath is the path of a CustomResourceDefinition. Its name is the plural of the resource, a dot, and the group.
func CRDPath(name string) []string {
	return member.Path(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}, "", name)
}

// IsPathGone reports whether a 404 is about the path itself and not about the object. The API server answers in plain text
// if it does not serve the path.
func IsPathGone(err error) bool {
	return apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// DeleteExactly deletes an object if it still has the given uid.
func DeleteExactly(ctx context.Context, conn *member.Conn, path []string, only metav1.Preconditions) error {
	background := metav1.DeletePropagationBackground
	body, err := json.Marshal(&metav1.DeleteOptions{
		TypeMeta:          metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"},
		Preconditions:     &only,
		PropagationPolicy: &background,
	})
	if err != nil {
		return fmt.Errorf("encoding DeleteOptions: %w", err)
	}
	_, err = member.Do(ctx, conn.REST().Delete().AbsPath(path...).Body(body), true)
	return err
}

// Operation is one operation of a JSON patch (RFC 6902).
type Operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// Release gives up Fairlead's ownership of an object and leaves every value as it is. It removes Fairlead's
// managedFields entry and marks, in one patch that names the uid. The API server would refuse an empty apply if
// Fairlead alone owns a required field.
func Release(ctx context.Context, conn *member.Conn, path []string, found *metav1.PartialObjectMetadata) error {
	patch := []Operation{{Op: "test", Path: "/metadata/uid", Value: found.UID}}
	entries := found.ManagedFields
	for i := len(entries) - 1; i >= 0; i-- {
		if entries[i].Manager == v1alpha1.FieldManager {
			patch = append(patch,
				Operation{Op: "test", Path: fmt.Sprintf("/metadata/managedFields/%d/manager", i), Value: v1alpha1.FieldManager},
				Operation{Op: "remove", Path: fmt.Sprintf("/metadata/managedFields/%d", i)})
		}
	}
	if _, marked := found.Labels[v1alpha1.LabelUID]; marked {
		patch = append(patch, Operation{Op: "remove", Path: "/metadata/labels/" + pointerKey(v1alpha1.LabelUID)})
	}
	for _, mark := range marks.Annotations {
		if _, marked := found.Annotations[mark]; marked {
			patch = append(patch, Operation{Op: "remove", Path: "/metadata/annotations/" + pointerKey(mark)})
		}
	}
	body, err := json.Marshal(patch)
	if err != nil {
		return fmt.Errorf("encoding the release of %s: %w", found.Name, err)
	}
	_, err = member.Do(ctx, conn.REST().Patch(types.JSONPatchType).AbsPath(path...).
		Param("fieldManager", v1alpha1.FieldManager+"-release").Body(body), true)
	return err
}

func pointerKey(key string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}

// HeldBy names the finalizers that hold an object, as the end of a message; "" when it has none.
func HeldBy(found metav1.Object) string {
	if held := found.GetFinalizers(); len(held) > 0 {
		return "; it is held by " + strings.Join(held, ", ")
	}
	return ""
}

// Ref is how messages name an object.
func Ref(kind, name string) string { return kind + " " + name }
