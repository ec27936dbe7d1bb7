// SPDX-License-Identifier: Apache-2.0

package push

import (
	"maps"
	"slices"
	"sync"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
	"github.com/fairlead-dev/fairlead/internal/push/apply"
	"github.com/fairlead-dev/fairlead/internal/push/plan"
)

// Names for the callers of the pusher.
type (
	// Key names a wrapper at the host.
	Key = deliveries.Key
	// Desired is the desired state of one pair.
	Desired = plan.Desired
	// Kept is an object that a member keeps after its wrapper dropped it.
	Kept = plan.Kept
	// HostLabels reads the labels of a namespace of the host. An error may be NotFound.
	HostLabels = apply.HostLabels
)

// KeyOf is the key of a wrapper's identity.
func KeyOf(id v1alpha1.WrapperIdentity) Key { return deliveries.KeyOf(id) }

// desiredStates holds the desired state of every pair. The zero value has none.
type desiredStates struct {
	mu  sync.RWMutex
	all map[Key]map[string]*plan.Desired
}

// set stores the desired state of a pair. was is the previous one, nil when there was none. is is the stored one: an
// equal state that is already in memory, if there is one.
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
		desired = was // with the strings that are in memory already
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

// get returns the desired state of a pair, nil when there is none.
func (d *desiredStates) get(key Key, memberName string) *plan.Desired {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.all[key][memberName]
}

// members are the members with a desired state for a wrapper, sorted.
func (d *desiredStates) members(key Key) []string {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return slices.Sorted(maps.Keys(d.all[key]))
}

// keysOf are the wrappers with a desired state on a member.
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
