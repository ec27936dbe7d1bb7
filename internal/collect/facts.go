// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/health"
)

// Bounds of the facts, as the schema of MemberFacts has them.
const (
	maxNames    = 64
	maxDefaults = 16
)

var (
	nodesGVR   = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
	classesGVR = schema.GroupVersionResource{Group: "storage.k8s.io", Version: "v1", Resource: "storageclasses"}
	driversGVR = schema.GroupVersionResource{Group: "storage.k8s.io", Version: "v1", Resource: "csidrivers"}
)

// The CRDs whose presence tells which generation of OLM there is.
const (
	olmV0CRD = "subscriptions.operators.coreos.com"
	olmV1CRD = "clusterextensions.olm.operatorframework.io"
)

// facts are what the member is made of, as far as it was listed. Guarded by the Collector's lock.
type facts struct {
	version string
	crds    nameSet
	drivers nameSet
	// zones leads from nodes to their zones.
	zones      map[string]string
	zonesKnown bool
	classes    map[string]health.Class
	// classesKnown: an empty map means that there are none, not that nobody looked.
	classesKnown bool
	// classesSeen counts changes of the classes: what waits for one is judged again.
	classesSeen int
}

// nameSet is a set of names that knows whether it was ever filled.
type nameSet struct {
	names map[string]struct{}
	known bool
}

func (s *nameSet) put(name string)  { s.names[name] = struct{}{} }
func (s *nameSet) drop(name string) { delete(s.names, name) }
func (s *nameSet) has(name string) bool {
	_, ok := s.names[name]
	return ok
}

func (s *nameSet) replace(names []string) {
	s.names, s.known = make(map[string]struct{}, len(names)), true
	for _, name := range names {
		s.put(name)
	}
}

func newFacts() facts {
	return facts{
		crds:    nameSet{names: map[string]struct{}{}},
		drivers: nameSet{names: map[string]struct{}{}},
		zones:   map[string]string{},
		classes: map[string]health.Class{},
	}
}

// told are the facts as Membership.status.facts has them, field by field, only those that are known.
func (f *facts) told() map[string]any {
	told := map[string]any{}
	if f.version != "" {
		told["kubernetesVersion"] = f.version
	}
	if f.zonesKnown {
		told["nodes"] = int64(len(f.zones))
		var zones []string
		for _, zone := range f.zones {
			if zone != "" {
				zones = append(zones, zone)
			}
		}
		told["zones"] = list(zones, maxNames)
	}
	if f.crds.known {
		var olm []string
		if f.crds.has(olmV0CRD) {
			olm = append(olm, string(v1alpha1.OLMV0))
		}
		if f.crds.has(olmV1CRD) {
			olm = append(olm, string(v1alpha1.OLMV1))
		}
		told["olm"] = list(olm, 2)
	}
	if f.classesKnown {
		var names, defaults, provisioners []string
		for name, class := range f.classes {
			names = append(names, name)
			if class.Default {
				defaults = append(defaults, name)
			}
			if class.Provisioner != "" {
				provisioners = append(provisioners, class.Provisioner)
			}
		}
		for name := range f.drivers.names {
			provisioners = append(provisioners, name)
		}
		told["storageClasses"] = list(names, maxNames)
		told["defaultStorageClasses"] = list(defaults, maxDefaults)
		told["provisioners"] = list(provisioners, maxNames)
	}
	return told
}

// list is a set as JSON has it: sorted, bounded, nil when empty.
func list(names []string, most int) any {
	slices.Sort(names)
	names = slices.Compact(names)
	if len(names) == 0 {
		return nil
	}
	out := make([]any, 0, min(len(names), most))
	for _, name := range names[:min(len(names), most)] {
		out = append(out, name)
	}
	return out
}

// changeFacts changes the facts under the lock and has the Membership told.
func (c *Collector) changeFacts(change func(*facts)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.facts)
	wake(c.factsChanged)
}

func (c *Collector) nodeFeed() *feed {
	zone := func(o *metav1.PartialObjectMetadata) string { return o.Labels[corev1.LabelTopologyZone] }
	return c.namesFeed(nodesGVR,
		func(o *metav1.PartialObjectMetadata) {
			c.mu.Lock()
			old, ok := c.facts.zones[o.Name]
			c.mu.Unlock()
			// Nodes report in every few minutes; only a new one or one that moved is news.
			if !ok || old != zone(o) {
				c.changeFacts(func(f *facts) { f.zones[o.Name] = zone(o) })
			}
		},
		func(o *metav1.PartialObjectMetadata) {
			c.changeFacts(func(f *facts) { delete(f.zones, o.Name) })
		},
		func(nodes []*metav1.PartialObjectMetadata) {
			c.changeFacts(func(f *facts) {
				f.zones, f.zonesKnown = make(map[string]string, len(nodes)), true
				for _, o := range nodes {
					f.zones[o.Name] = zone(o)
				}
			})
		})
}

func (c *Collector) driverFeed() *feed {
	return c.namesFeed(driversGVR,
		func(o *metav1.PartialObjectMetadata) { c.changeFacts(func(f *facts) { f.drivers.put(o.Name) }) },
		func(o *metav1.PartialObjectMetadata) { c.changeFacts(func(f *facts) { f.drivers.drop(o.Name) }) },
		func(drivers []*metav1.PartialObjectMetadata) {
			names := make([]string, 0, len(drivers))
			for _, o := range drivers {
				names = append(names, o.Name)
			}
			c.changeFacts(func(f *facts) { f.drivers.replace(names) })
		})
}

// classFeed watches StorageClasses, whole: they are few and small, and provisioner and binding mode are
// what matters in them.
func (c *Collector) classFeed() *feed {
	return &feed{
		name: classesGVR.Resource,
		trim: func(obj any) (any, error) {
			if u, ok := obj.(*unstructured.Unstructured); ok {
				u.SetManagedFields(nil)
			}
			return obj, nil
		},
		open: func(context.Context) (cache.ListerWatcher, runtime.Object, error) {
			return c.clients.objectSource(classesGVR, ""), &unstructured.Unstructured{}, nil
		},
		put: func(obj any) {
			u := obj.(*unstructured.Unstructured)
			c.changeClasses(func(f *facts) { f.classes[u.GetName()] = health.ReadClass(u) })
		},
		drop: func(obj any) {
			name := obj.(*unstructured.Unstructured).GetName()
			c.changeClasses(func(f *facts) { delete(f.classes, name) })
		},
		all: func(objs []any, _ string) {
			c.changeClasses(func(f *facts) {
				f.classes, f.classesKnown = make(map[string]health.Class, len(objs)), true
				for _, obj := range objs {
					u := obj.(*unstructured.Unstructured)
					f.classes[u.GetName()] = health.ReadClass(u)
				}
			})
		},
	}
}

// changeClasses is changeFacts for the classes; claims are looked at again.
func (c *Collector) changeClasses(change func(*facts)) {
	c.changeFacts(func(f *facts) {
		change(f)
		f.classesSeen++
		c.wakeUsers(claims)
	})
}
