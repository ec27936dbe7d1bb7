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

// deletionOrFinalizersChanged passes a wrapper whose deletion began or whose finalizers changed. Not every version of
// Kubernetes raises the generation for these.
var deletionOrFinalizersChanged = predicate.Funcs{
	CreateFunc:  func(event.CreateEvent) bool { return true },
	GenericFunc: func(event.GenericEvent) bool { return true },
	DeleteFunc:  func(event.DeleteEvent) bool { return true },
	UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetDeletionTimestamp().IsZero() != e.ObjectNew.GetDeletionTimestamp().IsZero() ||
			!slices.Equal(e.ObjectOld.GetFinalizers(), e.ObjectNew.GetFinalizers())
	},
}

// placementChanged passes a MemberCluster when a field changed on which decisions, renderings or pushes depend. A
// member's health is not among them: the fleet reports that.
var placementChanged = predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool {
		was, okWas := e.ObjectOld.(*v1alpha1.MemberCluster)
		is, okIs := e.ObjectNew.(*v1alpha1.MemberCluster)
		return !okWas || !okIs || was.Generation != is.Generation || !maps.Equal(was.Labels, is.Labels) ||
			was.DeletionTimestamp.IsZero() != is.DeletionTimestamp.IsZero()
	},
}

// retryLimiter paces reconciles that failed at the host's API server.
func retryLimiter() workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](200*time.Millisecond, time.Minute)
}
