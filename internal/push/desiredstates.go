// SPDX-License-Identifier: Apache-2.0

package push

import (
	"maps"
	"slices"
	"sync"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
	"github.com/fairlead-dev/fairlead/internal/push/namespaces"
	"github.com/fairlead-dev/fairlead/internal/push/plan"
)

// Other names for types of the packages below, for callers of this package.
type (
	// Key names a wrapper at the host.
	Key = deliveries.Key
	// Desired is the desired state of one pair.
	Desired = plan.Desired
	// Kept is an object that stays on a member after its wrapper dropped it or left the member.
	Kept = plan.Kept
	// HostLabels reads the labels of a namespace on the host. Its error is NotFound if the host has no such namespace.
	HostLabels = namespaces.HostLabels
)

// KeyOf returns the key of the wrapper with this identity.
func KeyOf(id v1alpha1.WrapperIdentity) Key { return deliveries.KeyOf(id) }

// desiredStates holds the desired state of every pair. The zero value has none.
type desiredStates struct {
	mu  sync.RWMutex
	all map[Key]map[string]*plan.Desired
}

// set stores the desired state of a pair. It returns the desired state that was stored before (was; nil if there was
// none) and the one that is stored now (is). If the new one equals the previous one, the previous one stays stored.
func (d *desiredStates) set(key Key, memberName string, desired *plan.Desired) (was, is *plan.Desired) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.all == nil {
		d.all = make(map[Key]map[string]*plan.Desired)
	}
	ofWrapper := d.all[key]
	if ofWrapper == nil {
		ofWrapper = make(map[string]*plan.Desired)
		d.all[key] = ofWrapper
	}
	was = ofWrapper[memberName]
	if was != nil && *was == *desired {
		desired = was // so that equal strings are not in memory twice
	}
	ofWrapper[memberName] = desired
	return was, desired
}

// remove deletes the desired state of a pair.
func (d *desiredStates) remove(key Key, memberName string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.all[key], memberName)
	if len(d.all[key]) == 0 {
		delete(d.all, key)
	}
}

// get returns the desired state of a pair; nil when the pair has none.
func (d *desiredStates) get(key Key, memberName string) *plan.Desired {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.all[key][memberName]
}

// members returns the names of the members with a desired state for a wrapper, sorted.
func (d *desiredStates) members(key Key) []string {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return slices.Sorted(maps.Keys(d.all[key]))
}

// keysOf returns the keys of the wrappers that have a desired state on a member.
func (d *desiredStates) keysOf(memberName string) []Key {
	d.mu.RLock()
	defer d.mu.RUnlock()
	var keys []Key
	for key, ofWrapper := range d.all {
		if ofWrapper[memberName] != nil {
			keys = append(keys, key)
		}
	}
	return keys
}
