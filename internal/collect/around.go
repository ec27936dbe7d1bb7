// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/federate/health"
)

// The kinds of OLM that stand around a Subscription.
var (
	csvs           = schema.GroupResource{Group: "operators.coreos.com", Resource: "clusterserviceversions"}
	installPlans   = schema.GroupResource{Group: "operators.coreos.com", Resource: "installplans"}
	operatorGroups = schema.GroupResource{Group: "operators.coreos.com", Resource: "operatorgroups"}
	olmAround      = []schema.GroupResource{csvs, installPlans, operatorGroups}

	csvsGVR           = csvs.WithVersion("v1alpha1")
	installPlansGVR   = installPlans.WithVersion("v1alpha1")
	operatorGroupsGVR = operatorGroups.WithVersion("v1")
	eventsGVR         = schema.GroupVersionResource{Version: "v1", Resource: "events"}
)

// maxWarnings bounds what is read to find the newest warning of one object.
const maxWarnings = 50

// around is what a namespace with Subscriptions is watched for.
type around struct {
	// changes counts what happened to its CSVs, InstallPlans and OperatorGroups.
	changes int
}

// surroundings is a number that changes when something around an object did.
func (c *Collector) surroundings(ref objectRef) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch ref.GroupResource {
	case subscriptions:
		if a := c.olm[ref.namespace]; a != nil {
			return a.changes
		}
	case claims:
		return c.facts.classesSeen
	}
	return 0
}

// aroundFeed watches one of OLM's kinds, of which only that something happened matters: what happened is
// read with the Subscription.
func (c *Collector) aroundFeed(gr schema.GroupResource) *feed {
	gvr := map[schema.GroupResource]schema.GroupVersionResource{
		csvs: csvsGVR, installPlans: installPlansGVR, operatorGroups: operatorGroupsGVR,
	}[gr]
	happened := func(o *metav1.PartialObjectMetadata) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.stirSubscriptions(o.Namespace)
	}
	return c.namesFeed(gvr, happened, happened, func([]*metav1.PartialObjectMetadata) {
		c.mu.Lock()
		defer c.mu.Unlock()
		for namespace := range c.book.subscribers {
			c.stirSubscriptions(namespace)
		}
	})
}

// stirSubscriptions has the Subscriptions of a namespace judged again. The lock is held.
func (c *Collector) stirSubscriptions(namespace string) {
	names := c.book.subscribers[namespace]
	if len(names) == 0 {
		delete(c.olm, namespace)
		return
	}
	a := c.olm[namespace]
	if a == nil {
		a = &around{}
		c.olm[namespace] = a
	}
	a.changes++
	for name := range names {
		c.deliveries.Add(name)
	}
}

// readAround reads what the rules of an object's kind ask for.
func (c *Collector) readAround(ctx context.Context, obj *unstructured.Unstructured, ref objectRef) (health.Around, error) {
	switch ref.GroupResource {
	case claims:
		return health.Around{Classes: c.classes()}, nil
	case subscriptions:
		return c.readAroundSubscription(ctx, obj)
	}
	return health.Around{}, nil
}

func (c *Collector) classes() map[string]health.Class {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.facts.classesKnown {
		return nil
	}
	classes := make(map[string]health.Class, len(c.facts.classes))
	for name, class := range c.facts.classes {
		classes[name] = class
	}
	return classes
}

func (c *Collector) readAroundSubscription(ctx context.Context, sub *unstructured.Unstructured) (health.Around, error) {
	var a health.Around
	var err error
	current, _, _ := unstructured.NestedString(sub.Object, "status", "currentCSV")
	if a.CSV, err = c.readNamed(ctx, csvsGVR, sub.GetNamespace(), current); err != nil {
		return a, err
	}
	plan, _, _ := unstructured.NestedString(sub.Object, "status", "installPlanRef", "name")
	if a.InstallPlan, err = c.readNamed(ctx, installPlansGVR, sub.GetNamespace(), plan); err != nil {
		return a, err
	}
	if a.CSV != nil {
		a.OperatorGroups = 1 // at least: OLM made a CSV, and says itself what it misses now
		return a, nil
	}
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	groups, err := c.clients.metadata.Resource(operatorGroupsGVR).Namespace(sub.GetNamespace()).List(ctx, metav1.ListOptions{Limit: 2})
	if err != nil {
		return a, refusedOr(operatorGroups, fmt.Errorf("listing OperatorGroups: %w", err))
	}
	a.OperatorGroups = len(groups.Items)
	return a, nil
}

// readNamed reads an object that another one names, nil where it names none or the object is not there.
func (c *Collector) readNamed(
	ctx context.Context, gvr schema.GroupVersionResource, namespace, name string,
) (*unstructured.Unstructured, error) {
	if name == "" {
		return nil, nil
	}
	obj, err := c.clients.read(ctx, gvr, namespace, name)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return obj, refusedOr(gvr.GroupResource(), err)
}

// refusedOr tells which resource was refused, where the error is a refusal.
func refusedOr(gr schema.GroupResource, err error) error {
	if apierrors.IsForbidden(err) {
		return &refusal{GroupResource: gr, cause: err}
	}
	return err
}

// newestWarning reads the newest warning event of an object; nil where there is none, or where events
// may not be read: they are words, and the verdict stands without them.
func (c *Collector) newestWarning(ctx context.Context, obj *unstructured.Unstructured) (*health.Warning, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	namespace := obj.GetNamespace()
	if namespace == "" {
		namespace = metav1.NamespaceDefault // where events about cluster-scoped objects are kept
	}
	list, err := c.clients.dynamic.Resource(eventsGVR).Namespace(namespace).List(ctx, metav1.ListOptions{
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

// eventTime is when an event was last seen, in whichever of its three times it says so.
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
