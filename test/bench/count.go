// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/testing/audit"
)

// objectCount is the number of objects in a cluster.
type objectCount struct{ objects, events int }

// count returns the number of objects of all kinds that can be listed.
func (c *cluster) count(ctx context.Context) (objectCount, error) {
	var found objectCount
	lists, err := c.discovery.ServerPreferredResources()
	if err != nil {
		return found, fmt.Errorf("counting objects on %s: %w", c.name, err)
	}
	gvrs, err := discovery.GroupVersionResources(discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "create"}}, lists))
	if err != nil {
		return found, fmt.Errorf("counting objects on %s: %w", c.name, err)
	}
	for gvr := range gvrs {
		if gvr.Group == "events.k8s.io" { // the same objects as the events of group ""
			continue
		}
		list, err := c.metadata.Resource(gvr).List(ctx, metav1.ListOptions{Limit: 1})
		if err != nil {
			return found, fmt.Errorf("counting %s on %s: %w", gvr.Resource, c.name, err)
		}
		n := len(list.Items)
		if list.RemainingItemCount != nil {
			n += int(*list.RemainingItemCount)
		}
		if gvr.Resource == "events" {
			found.events += n
		} else {
			found.objects += n
		}
	}
	return found, nil
}

// watchedKinds are the kinds that Fairlead or a peer writes in the works. A cluster need not serve all of them.
var watchedKinds = []schema.GroupVersionResource{
	{Version: "v1", Resource: "configmaps"}, {Version: "v1", Resource: "secrets"}, {Version: "v1", Resource: "namespaces"},
	{Group: "apps", Version: "v1", Resource: "controllerrevisions"},
	{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"},
	v1alpha1.GroupVersion.WithResource("federateds"), v1alpha1.GroupVersion.WithResource("memberclusters"),
	v1alpha1.GroupVersion.WithResource("deliveries"), v1alpha1.GroupVersion.WithResource("memberships"),
	{Group: "types.kubefed.io", Version: "v1beta1", Resource: "federatedconfigmaps"},
	{Group: "core.kubefed.io", Version: "v1alpha1", Resource: "propagatedversions"},
}

// watched counts the changes on a cluster that its API server reports.
type watched struct {
	mu sync.Mutex
	// changes counts the changes of each object, by resource, namespace and name.
	changes map[string]int
	// arrived holds the time of the last creation or change of each ConfigMap.
	arrived map[string]configMapChange
	ended   error
}

// configMapChange is the last creation or change of a ConfigMap.
type configMapChange struct {
	uid  string
	what watch.EventType
	at   time.Time
}

// watch counts changes from now on, until ctx ends.
func (c *cluster) watch(ctx context.Context) (*watched, error) {
	w := &watched{changes: make(map[string]int), arrived: make(map[string]configMapChange)}
	served, err := c.discovery.ServerPreferredResources()
	if err != nil {
		return nil, fmt.Errorf("watching %s: %w", c.name, err)
	}
	all, err := discovery.GroupVersionResources(served)
	if err != nil {
		return nil, fmt.Errorf("watching %s: %w", c.name, err)
	}
	for _, gvr := range watchedKinds {
		if _, ok := all[gvr]; !ok {
			continue
		}
		list, err := c.metadata.Resource(gvr).List(ctx, metav1.ListOptions{Limit: 1})
		if err != nil {
			return nil, fmt.Errorf("watching %s on %s: %w", gvr.Resource, c.name, err)
		}
		events, err := c.metadata.Resource(gvr).Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion, TimeoutSeconds: new(int64(3600))})
		if err != nil {
			return nil, fmt.Errorf("watching %s on %s: %w", gvr.Resource, c.name, err)
		}
		go w.follow(ctx, gvr.Resource, events)
	}
	return w, nil
}

func (w *watched) follow(ctx context.Context, resource string, events watch.Interface) {
	defer events.Stop()
	for event := range events.ResultChan() {
		obj, ok := event.Object.(*metav1.PartialObjectMetadata)
		w.mu.Lock()
		if ok {
			w.changes[strings.Join([]string{resource, obj.Namespace, obj.Name}, "/")]++
			if resource == "configmaps" {
				w.arrived[obj.Namespace+"/"+obj.Name] = configMapChange{uid: string(obj.UID), what: event.Type, at: time.Now()}
			}
		}
		w.mu.Unlock()
	}
	if ctx.Err() == nil {
		w.mu.Lock()
		w.ended = fmt.Errorf("the watch of %s ended while it was counted", resource)
		w.mu.Unlock()
	}
}

// keyOf returns the key of a request's object.
func keyOf(r audit.Request) string {
	return strings.Join([]string{r.Object.Resource, r.Object.Namespace, r.Object.Name}, "/")
}

// idempotent returns how many of these successful writes, counted by object, changed nothing. The API server reports
// every change to its watchers. idempotent waits a little for events that are still on their way.
func (w *watched) idempotent(writes map[string]int) int {
	var n int
	for range 20 {
		n = 0
		w.mu.Lock()
		for key, written := range writes {
			if resource, _, _ := strings.Cut(key, "/"); isWatched(resource) {
				n += max(0, written-w.changes[key])
			}
		}
		w.mu.Unlock()
		if n == 0 {
			return 0
		}
		time.Sleep(100 * time.Millisecond)
	}
	return n
}

func isWatched(resource string) bool {
	return slices.ContainsFunc(watchedKinds, func(gvr schema.GroupVersionResource) bool { return gvr.Resource == resource })
}

// configMaps returns the ConfigMaps that were created or changed since the watch began and still exist.
func (w *watched) configMaps() (map[string]configMapChange, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	found := maps.Clone(w.arrived)
	maps.DeleteFunc(found, func(_ string, a configMapChange) bool { return a.what == watch.Deleted })
	return found, w.ended
}
