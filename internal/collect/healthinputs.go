// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/federate/health"
	"github.com/fairlead-dev/fairlead/internal/collect/boundedwatch"
	"github.com/fairlead-dev/fairlead/internal/collect/deliveryindex"
	"github.com/fairlead-dev/fairlead/internal/collect/memberclient"
	"github.com/fairlead-dev/fairlead/internal/collect/objectcache"
)

// The kinds of OLM on which the health of a Subscription depends.
var (
	csvsGVR           = schema.GroupVersionResource{Group: "operators.coreos.com", Version: "v1alpha1", Resource: "clusterserviceversions"}
	installPlansGVR   = schema.GroupVersionResource{Group: "operators.coreos.com", Version: "v1alpha1", Resource: "installplans"}
	operatorGroupsGVR = schema.GroupVersionResource{Group: "operators.coreos.com", Version: "v1", Resource: "operatorgroups"}
	olmResources      = []schema.GroupVersionResource{csvsGVR, installPlansGVR, operatorGroupsGVR}
)

// maxPlans is how many InstallPlans of a namespace the collector reads at most. OLM keeps about five.
const maxPlans = 20

// related watches and reads the other objects that the health of an object depends on. For a claim these are
// StorageClasses, and for a Subscription OLM's objects.
type related struct {
	client *memberclient.Client
	facts  *facts
	looks  *lookQueue

	mu sync.Mutex
	// olmChanges has, by namespace, the number of changes of CSVs, InstallPlans and OperatorGroups. It has only
	// namespaces in which a Delivery lists a Subscription.
	olmChanges map[string]int
}

func newRelated(client *memberclient.Client, facts *facts, looks *lookQueue) *related {
	return &related{client: client, facts: facts, looks: looks, olmChanges: map[string]int{}}
}

// changes returns how often the objects on which the health of ref depends have changed.
func (r *related) changes(ref deliveryindex.Ref) int {
	switch ref.GroupResource {
	case deliveryindex.Subscriptions:
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.olmChanges[ref.Namespace]
	case objectcache.Claims:
		return r.facts.classChanges()
	}
	return 0
}

// watch watches one of OLM's kinds. It keeps no objects, only the number of changes: the collector reads the objects
// together with the Subscription.
func (r *related) watch(gvr schema.GroupVersionResource) *boundedwatch.Watch {
	happened := func(o *metav1.PartialObjectMetadata) { r.olmChanged(o.Namespace) }
	return watchNames(r.client, gvr, happened, happened, func([]*metav1.PartialObjectMetadata) {
		for _, namespace := range r.looks.index.SubscribedNamespaces() {
			r.olmChanged(namespace)
		}
	})
}

// olmChanged queues the Deliveries that list a Subscription in a namespace, so that the collector judges the
// Subscriptions again.
func (r *related) olmChanged(namespace string) {
	names := r.looks.index.SubscribingIn(namespace)
	r.mu.Lock()
	if len(names) == 0 {
		delete(r.olmChanges, namespace)
	} else {
		r.olmChanges[namespace]++
	}
	r.mu.Unlock()
	r.looks.addAll(names)
}

// forget drops all numbers of changes, because no Delivery lists a Subscription.
func (r *related) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.olmChanges)
}

// The method read returns the objects on which the health of obj depends by the rules of its kind.
func (r *related) read(ctx context.Context, obj *unstructured.Unstructured, ref deliveryindex.Ref) (health.Related, error) {
	switch ref.GroupResource {
	case objectcache.Claims:
		return health.Related{Classes: r.facts.knownClasses()}, nil
	case deliveryindex.Subscriptions:
		return r.readOfSubscription(ctx, obj)
	}
	return health.Related{}, nil
}

func (r *related) readOfSubscription(ctx context.Context, sub *unstructured.Unstructured) (health.Related, error) {
	var a health.Related
	var err error
	if health.NeedsPlan(sub) {
		plan, _, _ := unstructured.NestedString(sub.Object, "status", "installPlanRef", "name")
		if a.InstallPlan, err = r.readNamed(ctx, installPlansGVR, sub.GetNamespace(), plan); err != nil {
			return a, err
		}
		if health.LacksPlan(sub, a.InstallPlan) {
			if a.InstallPlan, err = r.planInstead(ctx, sub); err != nil {
				return a, err
			}
		}
	}
	if a.CSV, err = r.readNamed(ctx, csvsGVR, sub.GetNamespace(), health.NeededCSV(sub, a.InstallPlan)); err != nil {
		return a, err
	}
	if a.CSV != nil {
		a.OperatorGroups = 1 // at least one: OLM created a CSV, and reports other problems itself
		return a, nil
	}
	ctx, cancel := context.WithTimeout(ctx, memberclient.RequestTimeout)
	defer cancel()
	groups, err := r.client.Metadata.Resource(operatorGroupsGVR).Namespace(sub.GetNamespace()).List(ctx, metav1.ListOptions{Limit: 2})
	if err != nil {
		return a, refusedOr(operatorGroupsGVR.GroupResource(), fmt.Errorf("listing the OperatorGroups in the namespace of a Subscription: %w", err))
	}
	a.OperatorGroups = len(groups.Items)
	return a, nil
}

// planInstead finds another InstallPlan that can install the next CSV of a Subscription, because the plan that the
// Subscription's status names does not exist. It returns nil if there is no such plan.
func (r *related) planInstead(ctx context.Context, sub *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	ctx, cancel := context.WithTimeout(ctx, memberclient.RequestTimeout)
	defer cancel()
	list, err := r.client.Dynamic.Resource(installPlansGVR).Namespace(sub.GetNamespace()).List(ctx, metav1.ListOptions{Limit: maxPlans})
	if err != nil {
		return nil, refusedOr(installPlansGVR.GroupResource(), fmt.Errorf("listing the InstallPlans in the namespace of a Subscription: %w", err))
	}
	return health.PlanInstead(sub, list.Items), nil
}

// readNamed reads an object whose name comes from another object. It returns nil if the name is "" or the object does
// not exist.
func (r *related) readNamed(
	ctx context.Context, gvr schema.GroupVersionResource, namespace, name string,
) (*unstructured.Unstructured, error) {
	if name == "" {
		return nil, nil
	}
	obj, err := r.client.Read(ctx, gvr, namespace, name)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return obj, refusedOr(gvr.GroupResource(), err)
}

// refusal is the error if the member does not allow the collector to read an object. The collector needs that object to
// judge the health of another object. The refusal names the resource that the collector must be allowed to read.
type refusal struct {
	schema.GroupResource
	cause error
}

// Error implements error.
func (r *refusal) Error() string { return r.cause.Error() }

// Unwrap returns the API server's own error.
func (r *refusal) Unwrap() error { return r.cause }

// refusedOr turns a 403 into a refusal that names the resource. It returns every other error unchanged.
func refusedOr(gr schema.GroupResource, err error) error {
	if apierrors.IsForbidden(err) {
		return &refusal{GroupResource: gr, cause: err}
	}
	return err
}
