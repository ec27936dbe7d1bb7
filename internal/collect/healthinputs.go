// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/federate/health"
	"github.com/fairlead-dev/fairlead/internal/collect/boundedwatch"
	"github.com/fairlead-dev/fairlead/internal/collect/deliveryindex"
	"github.com/fairlead-dev/fairlead/internal/collect/memberclient"
	"github.com/fairlead-dev/fairlead/internal/collect/objectcache"
)

// The kinds of OLM that are related to a Subscription.
var (
	csvsGVR           = schema.GroupVersionResource{Group: "operators.coreos.com", Version: "v1alpha1", Resource: "clusterserviceversions"}
	installPlansGVR   = schema.GroupVersionResource{Group: "operators.coreos.com", Version: "v1alpha1", Resource: "installplans"}
	operatorGroupsGVR = schema.GroupVersionResource{Group: "operators.coreos.com", Version: "v1", Resource: "operatorgroups"}
	olmResources      = []schema.GroupVersionResource{csvsGVR, installPlansGVR, operatorGroupsGVR}

	eventsGVR = schema.GroupVersionResource{Version: "v1", Resource: "events"}
)

// maxWarnings is the highest number of events that the collector reads to find an object's newest warning.
const maxWarnings = 50

// related watches and reads the other objects that the health of an object depends on. For a claim these are
// StorageClasses, for a Subscription OLM's objects, and for all kinds warning events.
type related struct {
	client *memberclient.Client
	facts  *facts
	looks  *lookQueue

	mu sync.Mutex
	// olmChanges counts the changes of the CSVs, InstallPlans and OperatorGroups in each namespace with Subscriptions.
	olmChanges map[string]int
}

func newRelated(client *memberclient.Client, facts *facts, looks *lookQueue) *related {
	return &related{client: client, facts: facts, looks: looks, olmChanges: map[string]int{}}
}

// changes returns a number that changes with every change of a related object.
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

// watch watches one of OLM's kinds. It only counts changes: the collector reads the details together with the
// Subscription.
func (r *related) watch(gvr schema.GroupVersionResource) *boundedwatch.Watch {
	happened := func(o *metav1.PartialObjectMetadata) { r.olmChanged(o.Namespace) }
	return watchNames(r.client, gvr, happened, happened, func([]*metav1.PartialObjectMetadata) {
		for _, namespace := range r.looks.index.SubscribedNamespaces() {
			r.olmChanged(namespace)
		}
	})
}

// olmChanged queues the Deliveries with Subscriptions in a namespace, to judge them again.
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

// forget drops the counts, because there are no Subscriptions any more.
func (r *related) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.olmChanges)
}

// read reads the related objects that the rules of an object's kind need.
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
		return a, refusedOr(operatorGroupsGVR.GroupResource(), fmt.Errorf("listing OperatorGroups: %w", err))
	}
	a.OperatorGroups = len(groups.Items)
	return a, nil
}

// readNamed reads an object whose name stands in another object. It returns nil if the name is empty or there is no
// such object.
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

// refusal is the error if the member does not let the collector read a related object.
type refusal struct {
	schema.GroupResource
	cause error
}

// Error implements error.
func (r *refusal) Error() string { return r.cause.Error() }

// Unwrap returns the API server's own error.
func (r *refusal) Unwrap() error { return r.cause }

// refusedOr adds the refused resource to an error, if the error is a refusal.
func refusedOr(gr schema.GroupResource, err error) error {
	if apierrors.IsForbidden(err) {
		return &refusal{GroupResource: gr, cause: err}
	}
	return err
}

// newestWarning reads the newest warning event of an object. It returns nil if there is none. It also returns nil if
// the collector may not read events, because events only explain the verdict.
func (r *related) newestWarning(ctx context.Context, obj *unstructured.Unstructured) (*health.Warning, error) {
	ctx, cancel := context.WithTimeout(ctx, memberclient.RequestTimeout)
	defer cancel()
	namespace := obj.GetNamespace()
	if namespace == "" {
		namespace = metav1.NamespaceDefault // events about cluster-scoped objects are there
	}
	list, err := r.client.Dynamic.Resource(eventsGVR).Namespace(namespace).List(ctx, metav1.ListOptions{
		Limit: maxWarnings,
		FieldSelector: fields.Set{
			"involvedObject.uid": string(obj.GetUID()), "type": corev1.EventTypeWarning,
		}.AsSelector().String(),
	})
	switch {
	case apierrors.IsForbidden(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("listing events: %w", err)
	}
	var newest *health.Warning
	for i := range list.Items {
		var e corev1.Event
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(list.Items[i].Object, &e); err != nil {
			continue
		}
		w := &health.Warning{Reason: e.Reason, Message: e.Message, At: eventTime(&e)}
		if newest == nil || newest.At.Before(w.At) {
			newest = w
		}
	}
	return newest, nil
}

// eventTime returns when an event was last seen: the first of its times that is set.
func eventTime(e *corev1.Event) time.Time {
	switch {
	case e.Series != nil && !e.Series.LastObservedTime.IsZero():
		return e.Series.LastObservedTime.Time
	case !e.LastTimestamp.IsZero():
		return e.LastTimestamp.Time
	case !e.EventTime.IsZero():
		return e.EventTime.Time
	}
	return e.CreationTimestamp.Time
}
