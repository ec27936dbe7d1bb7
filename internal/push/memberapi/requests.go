// SPDX-License-Identifier: Apache-2.0

package memberapi

import (
	"context"
	"encoding/json"
	"errors"
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

// Metadata reads an object's metadata. It fails if the name in the answer is not the last part of path, or if the
// answer has no uid.
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
		return nil, fmt.Errorf("reading %s: the answer is another object; check that spec.endpoint of the MemberCluster is a Kubernetes API server", strings.Join(path, "/"))
	}
	return found, nil
}

// IsBuiltIn reports whether a kind is part of Kubernetes. The API server itself serves such a kind, and Fairlead knows
// which other objects Kubernetes deletes together with an object of the kind.
func IsBuiltIn(gk schema.GroupKind) bool {
	return member.Scheme.IsGroupRegistered(gk.Group) || gk.Group == "apiextensions.k8s.io" || gk.Group == "apiregistration.k8s.io"
}

// CRDPath returns the URL path of a CustomResourceDefinition. name is the plural of the resource, a dot, and the group.
func CRDPath(name string) []string {
	return member.Path(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}, "", name)
}

// IsPathGone reports whether a 404 means that the API server does not serve the URL path. The object may then still
// exist. The Status of an absent object names the object, or its namespace. An unknown path has plain text, or, if the
// API server serves other kinds of the same group and version, a Status that names nothing. After a write, IsAbsent is the question to
// ask: a webhook that refuses the write with 404 may name nothing, too.
func IsPathGone(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details == nil || details.Name == "" || apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// IsAbsent reports whether an error proves that the object of a request does not exist: a 404 of the API server itself about a path that
// it serves. The author of a webhook may refuse a request with 404, too.
func IsAbsent(err error) bool {
	return apierrors.IsNotFound(err) && !IsPathGone(err) && !IsPolicy(err.Error())
}

// DeleteExactly deletes an object if it still has the uid and the resourceVersion that the preconditions name. A nil
// precondition is not checked.
func DeleteExactly(ctx context.Context, conn *member.Conn, path []string, only metav1.Preconditions) error {
	return deleteIf(ctx, conn, path, metav1.DeleteOptions{Preconditions: &only})
}

// TryDelete asks the API server whether it would accept DeleteExactly, and deletes nothing (a dry run). The API server checks
// the preconditions, the host's rights, and the policies and webhooks of the member.
func TryDelete(ctx context.Context, conn *member.Conn, path []string, only metav1.Preconditions) error {
	return deleteIf(ctx, conn, path, metav1.DeleteOptions{Preconditions: &only, DryRun: []string{metav1.DryRunAll}})
}

func deleteIf(ctx context.Context, conn *member.Conn, path []string, options metav1.DeleteOptions) error {
	background := metav1.DeletePropagationBackground
	options.TypeMeta, options.PropagationPolicy = metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"}, &background
	body, err := json.Marshal(&options)
	if err != nil {
		return fmt.Errorf("encoding the options of a deletion: %w", err)
	}
	request := conn.REST().Delete().AbsPath(path...).Body(body)
	for _, run := range options.DryRun {
		request = request.Param("dryRun", run) // the API server reads the body; the parameter shows a dry run in logs of requests
	}
	_, err = member.Do(ctx, request, true)
	return err
}

// Operation is one operation of a JSON patch (RFC 6902).
type Operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// Release gives up Fairlead's ownership of an object and removes its marks; all other values of the object stay. It
// sends one JSON patch that tests the uid and removes Fairlead's managedFields entry and marks. An empty apply would
// not do: the API server refuses it if Fairlead alone owns a required field.
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
			patch = append(patch, Operation{Op: "remove", Path: AnnotationPointer(mark)})
		}
	}
	body, err := json.Marshal(patch)
	if err != nil {
		return fmt.Errorf("encoding the patch that removes Fairlead's ownership of %s: %w", found.Name, err)
	}
	_, err = member.Do(ctx, conn.REST().Patch(types.JSONPatchType).AbsPath(path...).
		Param("fieldManager", v1alpha1.FieldManager+"-release").Body(body), true)
	return err
}

// AnnotationPointer returns the JSON pointer of an annotation.
func AnnotationPointer(key string) string { return "/metadata/annotations/" + pointerKey(key) }

func pointerKey(key string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}

// HeldBy returns the end of a message that names the finalizers of an object that is being deleted; "" if it has none.
func HeldBy(found metav1.Object) string {
	if held := found.GetFinalizers(); len(held) > 0 {
		return "; it waits for finalizers: " + strings.Join(held, ", ")
	}
	return ""
}

// Ref returns the name of an object in messages, for example "Secret db".
func Ref(kind, name string) string { return kind + " " + name }
