// SPDX-License-Identifier: Apache-2.0

package push

import (
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// How long a namespace that was found open is taken to be. Whoever closes one is obeyed after that.
const (
	openForPushes  = 10 * time.Second
	openForRepairs = time.Second
)

// doors are the namespaces of one member that were found open of late. A thousand wrappers in ten namespaces need not
// ask a thousand times. That one has gone meanwhile, or is going, the API server says to whoever writes into it.
type doors struct {
	clock clock.PassiveClock

	mu   sync.Mutex
	seen map[door]time.Time
}

// door is a namespace under the policy by which it was judged.
type door struct {
	policy    v1alpha1.NamespacePolicy
	namespace string
}

// isOpen says whether a namespace was found open within the last while. A nil doors has seen none.
func (d *doors) isOpen(one door, while time.Duration) bool {
	if d == nil {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	at, ok := d.seen[one]
	return ok && d.clock.Since(at) < while
}

// found notes that a namespace is open.
func (d *doors) found(one door) {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.seen == nil {
		d.seen = make(map[door]time.Time)
	}
	d.seen[one] = d.clock.Now()
}

// doubt has a namespace looked at again.
func (d *doors) doubt(one door) {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.seen, one)
}
