// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"
	"errors"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/collect/boundedwatch"
	"github.com/fairlead-dev/fairlead/internal/collect/deliveryindex"
	"github.com/fairlead-dev/fairlead/internal/collect/memberclient"
	"github.com/fairlead-dev/fairlead/internal/collect/objectcache"
)

// groupTries is how many times the collector reads the discovery of an API group again, within 51 s. It tries again because
// the API server serves a kind only a moment after the kind's CRD appears, or much later while it is overloaded. After these
// tries the collector waits until a CRD or an APIService of the group changes. So a kind that stays missing causes no further
// requests.
const groupTries = 8

var (
	crdsGVR        = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	apiServicesGVR = schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}
)

// servedKinds finds out when the member serves the kinds that Deliveries wait for.
type servedKinds struct {
	client *memberclient.Client
	facts  *facts
	cache  *objectcache.Cache
	looks  *lookQueue
	// groups holds the API groups whose discovery the collector has to read.
	groups queue

	mu sync.Mutex
	// served has the kinds for which a Delivery waited, and which the member now serves according to its discovery.
	served map[schema.GroupKind]bool
}

func newServedKinds(client *memberclient.Client, facts *facts, cache *objectcache.Cache, looks *lookQueue, groups queue) *servedKinds {
	return &servedKinds{client: client, facts: facts, cache: cache, looks: looks, groups: groups, served: map[schema.GroupKind]bool{}}
}

// The method has reports whether the discovery has shown that the member serves a kind for which a Delivery waits.
func (k *servedKinds) has(gk schema.GroupKind) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.served[gk]
}

// add records that the member serves a kind.
func (k *servedKinds) add(gk schema.GroupKind) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.served[gk] = true
}

// dropGroup removes the kinds of an API group from served, and returns them.
func (k *servedKinds) dropGroup(group string) (dropped []schema.GroupKind) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for gk := range k.served {
		if gk.Group == group {
			delete(k.served, gk)
			dropped = append(dropped, gk)
		}
	}
	return dropped
}

// await queues the API groups of the kinds that a Delivery waits for. The index must have the Delivery before the call.
func (k *servedKinds) await(d *v1alpha1.Delivery) {
	for i := range d.Spec.Inventory {
		if e := &d.Spec.Inventory[i]; e.Resource == "" && !k.has(deliveryindex.KindOf(e)) {
			k.groups.Add(e.Group)
		}
	}
}

// watchCRDs watches the names of CRDs. The names show which version of OLM the member has. A change of a CRD also shows
// that the member may now serve a kind for which a Delivery waits.
func (k *servedKinds) watchCRDs() *boundedwatch.Watch {
	return watchNames(k.client, crdsGVR,
		func(o *metav1.PartialObjectMetadata) {
			k.facts.changeCRDs(func(crds *nameSet) { crds.put(o.Name) })
			k.groupChanged(groupOf(o.Name))
		},
		func(o *metav1.PartialObjectMetadata) {
			k.facts.changeCRDs(func(crds *nameSet) { crds.drop(o.Name) })
			for _, gk := range k.dropGroup(groupOf(o.Name)) { // the member may no longer serve this kind
				k.looks.addWaitingFor(gk)
			}
			k.groupChanged(groupOf(o.Name))
		},
		func(list []*metav1.PartialObjectMetadata) {
			names := make([]string, 0, len(list))
			for _, o := range list {
				names = append(names, o.Name)
			}
			k.facts.changeCRDs(func(crds *nameSet) { crds.replace(names) })
			k.allGroupsChanged()
		})
}

// watchAPIServices watches the names of APIServices, because a kind without a CRD appears with its APIService. The
// watch runs only while a kind is missing.
func (k *servedKinds) watchAPIServices() *boundedwatch.Watch {
	changed := func(o *metav1.PartialObjectMetadata) { k.groupChanged(groupOf(o.Name)) }
	return watchNames(k.client, apiServicesGVR, changed, changed, func([]*metav1.PartialObjectMetadata) { k.allGroupsChanged() })
}

// groupOf is the group in the name of a CRD (plural.group) or an APIService (version.group).
func groupOf(name string) string {
	_, group, _ := strings.Cut(name, ".")
	return group
}

// groupChanged signals that a CRD or an APIService of a group has changed. If a kind of the group is missing, it queues
// the group and resets the count of its tries.
func (k *servedKinds) groupChanged(group string) {
	boundedwatch.Signal(k.facts.changed)
	if k.isAwaited(group) {
		k.groups.Forget(group)
		k.groups.Add(group)
	}
}

// allGroupsChanged queues every group with a missing kind. It does not reset the count of tries.
func (k *servedKinds) allGroupsChanged() {
	boundedwatch.Signal(k.facts.changed)
	for _, gk := range k.looks.index.AwaitedKinds() {
		k.groups.Add(gk.Group)
	}
	for _, r := range k.cache.Unserved() {
		k.groups.Add(r.Group)
	}
}

// isAwaited reports whether a Delivery waits for a kind of the group, or the member does not serve a watched resource
// of the group.
func (k *servedKinds) isAwaited(group string) bool {
	for _, gk := range k.looks.index.AwaitedKinds() {
		if gk.Group == group {
			return true
		}
	}
	for _, r := range k.cache.Unserved() {
		if r.Group == group {
			return true
		}
	}
	return false
}

// askGroup reads the discovery of a group for its missing kinds.
func (k *servedKinds) askGroup(ctx context.Context, group string) error {
	kinds, resources := k.missing(group)
	left := 0
	for _, gk := range kinds {
		served, err := k.client.ServesKind(ctx, gk)
		if err != nil {
			return err
		}
		if !served {
			left++
			continue
		}
		k.add(gk) // before addWaitingFor: if a Delivery enters the index only after that call, its pass finds the kind here
		k.looks.addWaitingFor(gk)
	}
	for _, r := range resources {
		_, err := k.client.VersionOf(ctx, r.GroupResource, false)
		switch {
		case errors.Is(err, boundedwatch.ErrNotServed):
			left++
		case err != nil:
			return err
		default:
			left++ // until the watch has listed the resource: the API server may still answer the list with 404
			boundedwatch.Signal(r.Kick)
		}
	}
	if left > 0 && k.facts.hasCRDOf(group) && k.groups.NumRequeues(group) < groupTries {
		return errNotYet
	}
	return nil
}

// errNotYet is the error that makes the queue try a group again soon.
var errNotYet = errors.New("the group has a CRD, but the API server does not serve all its kinds yet")

// missing returns the kinds and the watched resources of a group that the member did not serve when the collector last
// asked.
func (k *servedKinds) missing(group string) (kinds []schema.GroupKind, resources []*objectcache.Resource) {
	for _, gk := range k.looks.index.AwaitedKinds() {
		if gk.Group == group && !k.has(gk) {
			kinds = append(kinds, gk)
		}
	}
	for _, r := range k.cache.Unserved() {
		if r.Group == group {
			resources = append(resources, r)
		}
	}
	return kinds, resources
}

// nameSet is a set of names. known is true after the first list.
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
