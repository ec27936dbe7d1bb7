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

// objectCount counts the objects in a cluster. Events are counted apart.
type objectCount struct{ objects, events int }

// count counts the objects of all kinds that can be listed and created.
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
		if gvr.Group == "events.k8s.io" { // the group "" lists the same Events
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

// watchedKinds are the kinds that Fairlead or a peer writes in the works. A cluster may serve only some of them.
var watchedKinds = []schema.GroupVersionResource{
	{Version: "v1", Resource: "configmaps"}, {Version: "v1", Resource: "secrets"}, {Version: "v1", Resource: "namespaces"},
	{Group: "apps", Version: "v1", Resource: "controllerrevisions"},
	{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"},
	v1alpha1.GroupVersion.WithResource("federateds"), v1alpha1.GroupVersion.WithResource("memberclusters"),
	v1alpha1.GroupVersion.WithResource("deliveries"), v1alpha1.GroupVersion.WithResource("memberships"),
	{Group: "types.kubefed.io", Version: "v1beta1", Resource: "federatedconfigmaps"},
	{Group: "core.kubefed.io", Version: "v1alpha1", Resource: "propagatedversions"},
}

// watched counts the changes that one cluster's API server reports through watches.
type watched struct {
	mu sync.Mutex
	// changes counts the changes of each object since the watches began. The key is RESOURCE/NAMESPACE/NAME.
	changes map[string]int
	// arrived has the last event of each ConfigMap. The key is NAMESPACE/NAME.
	arrived map[string]configMapChange
	ended   error
}

// configMapChange is the last watch event of a ConfigMap, and the time at which the bench received it.
type configMapChange struct {
	uid  string
	what watch.EventType
	at   time.Time
}

// watch starts a watch of each of watchedKinds that the cluster serves. The watches end with ctx.
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

// keyOf returns the key that the request's object has in watched.changes.
func keyOf(r audit.Request) string {
	return strings.Join([]string{r.Object.Resource, r.Object.Namespace, r.Object.Name}, "/")
}

// idempotent returns how many of the successful writes changed nothing. writes counts the successful writes of each object. The API server
// sends an event for each write that changes an object, so a write without an event changed nothing. An event may arrive
// late, so idempotent waits for up to two seconds.
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

// configMaps returns the ConfigMaps that were created or changed since the watches began, without those that were deleted after that.
func (w *watched) configMaps() (map[string]configMapChange, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	found := maps.Clone(w.arrived)
	maps.DeleteFunc(found, func(_ string, a configMapChange) bool { return a.what == watch.Deleted })
	return found, w.ended
}
