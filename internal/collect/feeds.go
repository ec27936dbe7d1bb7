// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// keepFeeds has exactly those feeds running that something on this member calls for, until ctx ends.
func (c *Collector) keepFeeds(ctx context.Context) {
	type going struct {
		stop context.CancelFunc
		kick chan struct{}
	}
	running := map[string]going{}
	var feeds sync.WaitGroup
	defer feeds.Wait()
	for {
		wanted := c.wantedFeeds()
		for name, f := range running {
			if _, ok := wanted[name]; !ok {
				f.stop()
				delete(running, name)
			}
		}
		for name, build := range wanted {
			if _, ok := running[name]; ok {
				continue
			}
			f := build()
			f.clock, f.refusals, f.budget = c.clock, c.refusals, c.budget
			if f.kick == nil {
				f.kick = make(chan struct{}, 1)
			}
			feedCtx, stop := context.WithCancel(ctx)
			running[name] = going{stop, f.kick}
			feeds.Go(func() { f.run(feedCtx) })
		}
		select {
		case <-ctx.Done():
			for _, f := range running {
				f.stop()
			}
			return
		case <-c.readmitted:
			for _, f := range running {
				wake(f.kick)
			}
		case <-c.feedsChanged:
		}
	}
}

// wantedFeeds says which feeds should run, and forgets the kinds that nobody names any more.
func (c *Collector) wantedFeeds() map[string]func() *feed {
	wanted := map[string]func() *feed{
		"deliveries":     c.deliveryFeed,
		"crds":           c.crdFeed,
		"nodes":          c.nodeFeed,
		"storageclasses": c.classFeed,
		"csidrivers":     c.driverFeed,
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	missing := len(c.book.waiting) > 0
	for gr, k := range c.kinds {
		if _, ok := c.book.users[gr]; !ok {
			delete(c.kinds, gr)
			continue
		}
		missing = missing || k.state == kindUnserved
	}
	for gr := range c.book.users {
		k := c.kinds[gr]
		if k == nil {
			k = newKind(gr)
			c.kinds[gr] = k
		}
		// The pointer tells a kind that was named again from the one whose feed is ending.
		wanted[fmt.Sprintf("objects/%s/%p", gr, k)] = func() *feed { return c.kindFeed(k) }
	}
	if missing {
		wanted["apiservices"] = c.apiServiceFeed
	}
	if len(c.book.subscribers) > 0 {
		for _, gr := range olmAround {
			wanted["around/"+gr.String()] = func() *feed { return c.aroundFeed(gr) }
		}
	} else {
		clear(c.olm)
	}
	return wanted
}

// deliveryFeed watches the Deliveries, whole.
func (c *Collector) deliveryFeed() *feed {
	lost := false
	return &feed{
		name:      "deliveries",
		essential: true,
		open: func(context.Context) (cache.ListerWatcher, runtime.Object, error) {
			return c.clients.objectSource(deliveriesGVR, v1alpha1.SystemNamespace), &v1alpha1.Delivery{}, nil
		},
		trim: func(obj any) (any, error) {
			if u, ok := obj.(*unstructured.Unstructured); ok {
				return toDelivery(u)
			}
			return obj, nil
		},
		put:  func(obj any) { c.learn(obj.(*v1alpha1.Delivery)) },
		drop: func(obj any) { c.forget(obj.(metav1.Object).GetName()) },
		lost: func(error) { lost = true },
		all: func(objs []any, _ string) {
			if lost {
				// The member is back, or was joined again: what failed with the Deliveries need not wait longer.
				lost = false
				wake(c.readmitted)
			}
			there := make(map[string]struct{}, len(objs))
			for _, obj := range objs {
				d := obj.(*v1alpha1.Delivery)
				there[d.Name] = struct{}{}
				c.learn(d)
			}
			for _, name := range c.knownDeliveries() {
				if _, ok := there[name]; !ok {
					c.forget(name)
				}
			}
		},
	}
}

func toDelivery(u *unstructured.Unstructured) (*v1alpha1.Delivery, error) {
	d := &v1alpha1.Delivery{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, d); err != nil {
		return nil, fmt.Errorf("reading Delivery %s: %w", u.GetName(), err)
	}
	d.ManagedFields = nil
	return d, nil
}

// learn takes a Delivery as it was seen, from wherever.
func (c *Collector) learn(d *v1alpha1.Delivery) {
	c.mu.Lock()
	defer c.mu.Unlock()
	taken, respecified := c.book.enter(d, c.clock.Now())
	if !taken {
		return
	}
	c.deliveries.Add(d.Name)
	if !respecified {
		return
	}
	for i := range d.Spec.Inventory {
		if e := &d.Spec.Inventory[i]; e.Resource == "" && !c.served[kindOf(e)] {
			c.groups.Add(e.Group)
		}
	}
	wake(c.feedsChanged)
}

func (c *Collector) forget(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.book.strike(name)
	wake(c.feedsChanged)
}

func (c *Collector) knownDeliveries() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	names := make([]string, 0, len(c.book.pages))
	for name := range c.book.pages {
		names = append(names, name)
	}
	return names
}

// namesFeed watches a kind of which only names (and what pick takes from the metadata) matter.
func (c *Collector) namesFeed(
	gvr schema.GroupVersionResource, put, drop func(*metav1.PartialObjectMetadata), all func([]*metav1.PartialObjectMetadata),
) *feed {
	return &feed{
		name: gvr.Resource,
		open: func(context.Context) (cache.ListerWatcher, runtime.Object, error) {
			return c.clients.metadataSource(gvr, ""), &metav1.PartialObjectMetadata{}, nil
		},
		trim: func(obj any) (any, error) {
			o, ok := obj.(*metav1.PartialObjectMetadata)
			if !ok {
				return nil, fmt.Errorf("trimming %s: got a %T", gvr.Resource, obj)
			}
			o.ManagedFields, o.Annotations, o.OwnerReferences = nil, nil, nil
			return o, nil
		},
		put:  func(obj any) { put(obj.(*metav1.PartialObjectMetadata)) },
		drop: func(obj any) { drop(obj.(*metav1.PartialObjectMetadata)) },
		all: func(objs []any, _ string) {
			list := make([]*metav1.PartialObjectMetadata, 0, len(objs))
			for _, obj := range objs {
				list = append(list, obj.(*metav1.PartialObjectMetadata))
			}
			all(list)
		},
		lost: func(err error) {
			klog.Background().V(3).Info("Nothing is known of this kind", "kind", gvr.Resource, "reason", err.Error())
		},
	}
}
