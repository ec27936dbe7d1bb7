// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"
	"errors"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A kind is served a moment after its CRD says so. Asking stops after these tries and starts again when
// something happens to a CRD or an APIService of the group: a kind that stays away costs nothing.
const groupTries = 6

var (
	crdsGVR        = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	apiServicesGVR = schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}
)

// crdFeed watches the names of CRDs: they tell of OLM, and wake what waits for a kind.
func (c *Collector) crdFeed() *feed {
	return c.namesFeed(crdsGVR,
		func(o *metav1.PartialObjectMetadata) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.facts.crds.put(o.Name)
			c.stir(groupOf(o.Name))
		},
		func(o *metav1.PartialObjectMetadata) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.facts.crds.drop(o.Name)
			c.unserve(groupOf(o.Name))
			c.stir(groupOf(o.Name))
		},
		func(list []*metav1.PartialObjectMetadata) {
			c.mu.Lock()
			defer c.mu.Unlock()
			names := make([]string, 0, len(list))
			for _, o := range list {
				names = append(names, o.Name)
			}
			c.facts.crds.replace(names)
			c.stirAll()
		})
}

// apiServiceFeed watches the names of APIServices, for kinds that no CRD defines. It runs only while
// something waits.
func (c *Collector) apiServiceFeed() *feed {
	stir := func(o *metav1.PartialObjectMetadata) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.stir(groupOf(o.Name))
	}
	return c.namesFeed(apiServicesGVR, stir, stir, func([]*metav1.PartialObjectMetadata) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.stirAll()
	})
}

// groupOf is the group in the name of a CRD (plural.group) or an APIService (version.group).
func groupOf(name string) string {
	_, group, _ := strings.Cut(name, ".")
	return group
}

// stir notes that something happened to a group, and has it asked if anything waits for it. The lock is
// held.
func (c *Collector) stir(group string) {
	wake(c.factsChanged)
	for gk := range c.book.waiting {
		if gk.Group == group {
			c.groups.Forget(group)
			c.groups.Add(group)
			return
		}
	}
	for gr, k := range c.kinds {
		if gr.Group == group && k.state == kindUnserved {
			c.groups.Forget(group)
			c.groups.Add(group)
			return
		}
	}
}

// stirAll is stir for every group that anything waits for. The lock is held.
func (c *Collector) stirAll() {
	wake(c.factsChanged)
	for gk := range c.book.waiting {
		c.groups.Add(gk.Group)
	}
	for gr, k := range c.kinds {
		if k.state == kindUnserved {
			c.groups.Add(gr.Group)
		}
	}
}

// unserve notes that kinds of a group may have gone. The lock is held.
func (c *Collector) unserve(group string) {
	for gk := range c.served {
		if gk.Group != group {
			continue
		}
		delete(c.served, gk)
		for name := range c.book.waiting[gk] {
			c.deliveries.Add(name)
		}
	}
}

// askGroup asks the member for the kinds of a group that something waits for.
func (c *Collector) askGroup(ctx context.Context, group string) error {
	kinds, resources := c.missing(group)
	left := 0
	for _, gk := range kinds {
		served, err := c.servesKind(ctx, gk)
		if err != nil {
			return err
		}
		if !served {
			left++
			continue
		}
		c.mu.Lock()
		c.served[gk] = true
		for name := range c.book.waiting[gk] {
			c.deliveries.Add(name)
		}
		c.mu.Unlock()
	}
	for _, k := range resources {
		_, err := c.versionOf(ctx, k.gr, false)
		switch {
		case errors.Is(err, errNotServed):
			left++
		case err != nil:
			return err
		default:
			wake(k.kick)
		}
	}
	if left > 0 && c.announced(group) && c.groups.NumRequeues(group) < groupTries {
		return errNotYet
	}
	return nil
}

// errNotYet has a group asked again soon.
var errNotYet = errors.New("the group's kinds are announced and not served yet")

// missing are the kinds and watched resources of a group that were not served when last asked.
func (c *Collector) missing(group string) (kinds []schema.GroupKind, resources []*kind) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for gk := range c.book.waiting {
		if gk.Group == group && !c.served[gk] {
			kinds = append(kinds, gk)
		}
	}
	for gr, k := range c.kinds {
		if gr.Group == group && k.state == kindUnserved {
			resources = append(resources, k)
		}
	}
	return kinds, resources
}

// announced says whether a CRD of the group is there, so that its kinds may be served any moment.
func (c *Collector) announced(group string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name := range c.facts.crds.names {
		if groupOf(name) == group {
			return true
		}
	}
	return false
}
