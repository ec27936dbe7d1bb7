// SPDX-License-Identifier: Apache-2.0

package federated

import (
	"maps"
	"slices"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// deletionOrFinalizersChanged passes a wrapper whose deletion began or whose finalizers changed. Some versions of
// Kubernetes do not raise the generation for such a change.
var deletionOrFinalizersChanged = predicate.Funcs{
	CreateFunc:  func(event.CreateEvent) bool { return true },
	GenericFunc: func(event.GenericEvent) bool { return true },
	DeleteFunc:  func(event.DeleteEvent) bool { return true },
	UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetDeletionTimestamp().IsZero() != e.ObjectNew.GetDeletionTimestamp().IsZero() ||
			!slices.Equal(e.ObjectOld.GetFinalizers(), e.ObjectNew.GetFinalizers())
	},
}

// placementChanged passes a MemberCluster when its spec, its labels or its deletion changed, because decisions,
// renderings and pushes depend on these. It ignores changes of the status: the fleet reports whether a member is
// usable.
var placementChanged = predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool {
		was, okWas := e.ObjectOld.(*v1alpha1.MemberCluster)
		is, okIs := e.ObjectNew.(*v1alpha1.MemberCluster)
		return !okWas || !okIs || was.Generation != is.Generation || !maps.Equal(was.Labels, is.Labels) ||
			was.DeletionTimestamp.IsZero() != is.DeletionTimestamp.IsZero()
	},
}

// retryLimiter returns the backoff for reconciles that returned an error: 200 ms, doubled at each failure, at most a
// minute.
func retryLimiter() workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](200*time.Millisecond, time.Minute)
}
