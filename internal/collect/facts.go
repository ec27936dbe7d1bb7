// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/health"
	"github.com/fairlead-dev/fairlead/internal/collect/boundedwatch"
	"github.com/fairlead-dev/fairlead/internal/collect/memberclient"
	"github.com/fairlead-dev/fairlead/internal/collect/objectcache"
)

// These are the limits that the schema of MemberFacts sets.
const (
	// maxNames is how many names a fact may have.
	maxNames = 64
	// maxDefaults is how many default StorageClasses the facts may have.
	maxDefaults = 16
)

var (
	nodesGVR   = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
	classesGVR = schema.GroupVersionResource{Group: "storage.k8s.io", Version: "v1", Resource: "storageclasses"}
	driversGVR = schema.GroupVersionResource{Group: "storage.k8s.io", Version: "v1", Resource: "csidrivers"}
)

// The CRDs that show which version of OLM (v0 or v1) the member has.
const (
	olmV0CRD = "subscriptions.operators.coreos.com"
	olmV1CRD = "clusterextensions.olm.operatorframework.io"
)

// facts has the facts about the member that the collector's watches and requests have returned so far.
type facts struct {
	client *memberclient.Client
	looks  *lookQueue
	// changed signals that the Membership may need a write.
	changed chan struct{}

	mu      sync.Mutex
	version string
	crds    nameSet
	drivers nameSet
	// zones maps nodes to their zones.
	zones      map[string]string
	zonesKnown bool
	classes    map[string]health.Class
	// classesKnown is true after the first list of StorageClasses. After the first list, an empty map means that the
	// member has no StorageClass.
	classesKnown bool
	// classesSeen counts the changes of the StorageClasses. After a change, the collector judges claims again.
	classesSeen int
}

func newFacts(client *memberclient.Client, looks *lookQueue) *facts {
	return &facts{
		client: client, looks: looks, changed: make(chan struct{}, 1),
		crds:    nameSet{names: map[string]struct{}{}},
		drivers: nameSet{names: map[string]struct{}{}},
		zones:   map[string]string{},
		classes: map[string]health.Class{},
	}
}

// told returns the facts that the collector knows, in the form of Membership.status.facts. A fact that the collector
// does not know yet has no field.
func (f *facts) told() map[string]any {
	f.mu.Lock()
	defer f.mu.Unlock()
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

// list returns names as a JSON list: sorted, without duplicates, and with no more names than the argument most allows.
// It returns nil if names is empty.
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

// The method change calls a function that changes the facts, while it holds the lock. It then signals the heartbeat.
func (f *facts) change(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
	boundedwatch.Signal(f.changed)
}

// changeClasses does the same as the method change, for the StorageClasses. It also queues the Deliveries that list
// claims, so that the collector judges the claims again.
func (f *facts) changeClasses(change func()) {
	f.change(func() {
		change()
		f.classesSeen++
	})
	f.looks.addUsing(objectcache.Claims)
}

// setVersion stores the version of the member's API server. The next heartbeat writes it.
func (f *facts) setVersion(version string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.version = version
}

// changeCRDs calls a function that changes the names of the CRDs, while it holds the lock. The caller signals the
// heartbeat.
func (f *facts) changeCRDs(change func(*nameSet)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(&f.crds)
}

// hasCRDOf reports whether the member has a CRD of an API group. The API server may then begin to serve the group's
// kinds at any moment.
func (f *facts) hasCRDOf(group string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for name := range f.crds.names {
		if groupOf(name) == group {
			return true
		}
	}
	return false
}

// knownClasses returns the StorageClasses by name; nil before the first list.
func (f *facts) knownClasses() map[string]health.Class {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.classesKnown {
		return nil
	}
	return maps.Clone(f.classes)
}

// classChanges returns how many times the StorageClasses have changed.
func (f *facts) classChanges() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.classesSeen
}

// isZone reports whether the facts have this node with this zone.
func (f *facts) isZone(node, zone string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	known, ok := f.zones[node]
	return ok && known == zone
}

func (f *facts) watchNodes() *boundedwatch.Watch {
	zone := func(o *metav1.PartialObjectMetadata) string { return o.Labels[corev1.LabelTopologyZone] }
	return watchNames(f.client, nodesGVR,
		func(o *metav1.PartialObjectMetadata) {
			// Each node updates its status every few minutes. For the facts, only a new node or another zone is a
			// change.
			if !f.isZone(o.Name, zone(o)) {
				f.change(func() { f.zones[o.Name] = zone(o) })
			}
		},
		func(o *metav1.PartialObjectMetadata) {
			f.change(func() { delete(f.zones, o.Name) })
		},
		func(nodes []*metav1.PartialObjectMetadata) {
			f.change(func() {
				f.zones, f.zonesKnown = make(map[string]string, len(nodes)), true
				for _, o := range nodes {
					f.zones[o.Name] = zone(o)
				}
			})
		})
}

func (f *facts) watchDrivers() *boundedwatch.Watch {
	return watchNames(f.client, driversGVR,
		func(o *metav1.PartialObjectMetadata) { f.change(func() { f.drivers.put(o.Name) }) },
		func(o *metav1.PartialObjectMetadata) { f.change(func() { f.drivers.drop(o.Name) }) },
		func(drivers []*metav1.PartialObjectMetadata) {
			names := make([]string, 0, len(drivers))
			for _, o := range drivers {
				names = append(names, o.Name)
			}
			f.change(func() { f.drivers.replace(names) })
		})
}

// watchClasses watches StorageClasses. It reads whole objects, because the health of a claim depends on the provisioner
// and the binding mode. StorageClasses are few and small.
func (f *facts) watchClasses() *boundedwatch.Watch {
	return &boundedwatch.Watch{
		Name: classesGVR.Resource,
		Trim: func(obj any) (any, error) {
			if u, ok := obj.(*unstructured.Unstructured); ok {
				u.SetManagedFields(nil)
			}
			return obj, nil
		},
		Open: func(context.Context) (cache.ListerWatcher, runtime.Object, error) {
			return f.client.ObjectSource(classesGVR, ""), &unstructured.Unstructured{}, nil
		},
		Put: func(obj any) {
			u := obj.(*unstructured.Unstructured)
			f.changeClasses(func() { f.classes[u.GetName()] = health.ReadClass(u) })
		},
		Drop: func(obj any) {
			name := obj.(*unstructured.Unstructured).GetName()
			f.changeClasses(func() { delete(f.classes, name) })
		},
		Replace: func(objs []any, _ string) {
			f.changeClasses(func() {
				f.classes, f.classesKnown = make(map[string]health.Class, len(objs)), true
				for _, obj := range objs {
					u := obj.(*unstructured.Unstructured)
					f.classes[u.GetName()] = health.ReadClass(u)
				}
			})
		},
	}
}
