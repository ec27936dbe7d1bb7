// SPDX-License-Identifier: Apache-2.0

package federated

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// addFinalizer puts Fairlead's finalizer on the wrapper before the first push, because only the manager can remove the
// objects that it pushed. The webhook sets the finalizer at the creation of a wrapper. addFinalizer sets it on a
// wrapper that bypassed the webhook.
func (p *reconciliation) addFinalizer(ctx context.Context) error {
	obj := p.object()
	if controllerutil.ContainsFinalizer(obj, v1alpha1.Finalizer) {
		return nil
	}
	before := obj.DeepCopyObject().(client.Object) //nolint:forcetypeassert // the copy of a client.Object is a client.Object
	controllerutil.AddFinalizer(obj, v1alpha1.Finalizer)
	if err := p.client.Patch(ctx, obj, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("putting the finalizer on %s: %w", p.key, err)
	}
	p.writes.noteWritten(p.wrapper)
	return nil
}

// removeFinalizer removes Fairlead's finalizer, so that the API server can delete the wrapper. The caller first makes
// sure that the wrapper has left all members, or that its objects are to stay there.
func (p *reconciliation) removeFinalizer(ctx context.Context) error {
	obj := p.object()
	if !controllerutil.ContainsFinalizer(obj, v1alpha1.Finalizer) {
		return nil
	}
	before := obj.DeepCopyObject().(client.Object) //nolint:forcetypeassert // the copy of a client.Object is a client.Object
	controllerutil.RemoveFinalizer(obj, v1alpha1.Finalizer)
	if err := p.client.Patch(ctx, obj, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("taking the finalizer off %s: %w", p.key, err)
	}
	return nil
}

// object returns the wrapper as a client.Object.
func (p *reconciliation) object() client.Object {
	return p.wrapper.(client.Object) //nolint:forcetypeassert // both wrappers are client.Objects
}
