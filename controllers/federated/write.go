// SPDX-License-Identifier: Apache-2.0

package federated

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/controllers/federated/rolloutstate"
)

// schedulerManager is the field manager that writes status.placement and no other field.
const schedulerManager = v1alpha1.FieldManager + "-scheduler"

// wrapperWriter writes to one wrapper on the host, and notes each write in the write cache. Each write fails if another
// process has changed the wrapper since this process read it.
type wrapperWriter struct {
	client  client.Client
	writes  *writeCache
	wrapper v1alpha1.Wrapper
}

// addFinalizer puts Fairlead's finalizer on the wrapper before the first push, because only the manager can remove the
// objects that it pushed. The webhook sets the finalizer at the creation of a wrapper. addFinalizer sets it on a
// wrapper that bypassed the webhook.
func (w wrapperWriter) addFinalizer(ctx context.Context) error {
	obj := objectOf(w.wrapper)
	if controllerutil.ContainsFinalizer(obj, v1alpha1.Finalizer) {
		return nil
	}
	before := obj.DeepCopyObject().(client.Object) //nolint:forcetypeassert // the copy of a client.Object is a client.Object
	controllerutil.AddFinalizer(obj, v1alpha1.Finalizer)
	if err := w.client.Patch(ctx, obj, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("putting the finalizer on %s: %w", keyOf(w.wrapper), err)
	}
	w.writes.noteWritten(w.wrapper)
	return nil
}

// removeFinalizer removes Fairlead's finalizer, so that the API server can delete the wrapper. The caller first makes
// sure that the wrapper has left all members, or that its objects are to stay there.
func (w wrapperWriter) removeFinalizer(ctx context.Context) error {
	obj := objectOf(w.wrapper)
	if !controllerutil.ContainsFinalizer(obj, v1alpha1.Finalizer) {
		return nil
	}
	before := obj.DeepCopyObject().(client.Object) //nolint:forcetypeassert // the copy of a client.Object is a client.Object
	controllerutil.RemoveFinalizer(obj, v1alpha1.Finalizer)
	if err := w.client.Patch(ctx, obj, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("taking the finalizer off %s: %w", keyOf(w.wrapper), err)
	}
	return nil
}

// writeDecision writes status.placement. The write names the resourceVersion of the wrapper on which the decision is
// based. If another process has written a decision meanwhile, the API server therefore refuses this write. Without that
// check, this process would overwrite the other decision, and lose the members which that decision added.
func (w wrapperWriter) writeDecision(ctx context.Context, decided v1alpha1.PlacementStatus) error {
	key := keyOf(w.wrapper)
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&decided)
	if err != nil {
		return fmt.Errorf("encoding status.placement of %s: %w", key, err)
	}
	u := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"placement": content}}}
	u.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(string(key.Kind)))
	u.SetNamespace(key.Namespace)
	u.SetName(key.Name)
	u.SetUID(w.wrapper.GetUID())
	u.SetResourceVersion(w.wrapper.GetResourceVersion())
	if err := w.client.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(u),
		client.ForceOwnership, client.FieldOwner(schedulerManager)); err != nil {
		return fmt.Errorf("writing status.placement of %s: %w", key, err)
	}
	w.wrapper.SetResourceVersion(u.GetResourceVersion())
	w.wrapper.WrapperStatus().Placement = decided
	w.writes.noteWritten(w.wrapper)
	return nil
}

// writeRollout writes the state of a rollout if the state has changed, and returns the status before. If the state is the
// same, it returns nil. It ignores the fields that rolloutstate.Only leaves out, such as SoakUntil: publish writes those with the
// rest of the status.
func (w wrapperWriter) writeRollout(ctx context.Context, next v1alpha1.RolloutStatus) (before *v1alpha1.RolloutStatus, err error) {
	was := w.wrapper.WrapperStatus().Rollout
	if equality.Semantic.DeepEqual(rolloutstate.Only(was), rolloutstate.Only(next)) {
		return nil, nil //nolint:nilnil // the state has not changed, so there is nothing to return
	}
	if err := w.patchStatus(ctx, func(status *v1alpha1.WrapperStatus) { status.Rollout = next }); err != nil {
		return nil, fmt.Errorf("writing status.rollout of %s: %w", keyOf(w.wrapper), err)
	}
	return &was, nil
}

// patchStatus changes the status, and writes the change. It returns the client's error unwrapped. After an error, the
// wrapper in memory still has the changed status.
func (w wrapperWriter) patchStatus(ctx context.Context, change func(*v1alpha1.WrapperStatus)) error {
	obj := objectOf(w.wrapper)
	base := obj.DeepCopyObject().(client.Object) //nolint:forcetypeassert // the copy of a client.Object is a client.Object
	change(w.wrapper.WrapperStatus())
	if err := w.client.Status().Patch(ctx, obj, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})); err != nil {
		return err
	}
	w.writes.noteWritten(w.wrapper)
	return nil
}

// objectOf returns a wrapper as a client.Object.
func objectOf(w v1alpha1.Wrapper) client.Object {
	return w.(client.Object) //nolint:forcetypeassert // both wrappers are client.Objects
}
