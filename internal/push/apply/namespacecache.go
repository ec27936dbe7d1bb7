// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// How long the manager relies on a namespace that it found open. Closing a namespace takes effect within that time.
const (
	openForPushes  = 10 * time.Second
	openForRepairs = time.Second
)

// NamespaceCache remembers which namespaces of one member were found open recently. So a thousand wrappers in ten
// namespaces need not make a thousand requests. If a namespace has been deleted meanwhile, the API server refuses the
// write into it.
type NamespaceCache struct {
	clock clock.PassiveClock

	mu   sync.Mutex
	seen map[namespaceKey]time.Time
}

// namespaceKey is a namespace, and the policy under which it was checked.
type namespaceKey struct {
	policy    v1alpha1.NamespacePolicy
	namespace string
}

// NewNamespaceCache returns an empty cache.
func NewNamespaceCache(clk clock.PassiveClock) *NamespaceCache { return &NamespaceCache{clock: clk} }

// isOpen reports whether a namespace was recently found open. A nil cache has none.
func (c *NamespaceCache) isOpen(one namespaceKey, while time.Duration) bool {
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	at, ok := c.seen[one]
	return ok && c.clock.Since(at) < while
}

// found notes that a namespace is open.
func (c *NamespaceCache) found(one namespaceKey) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seen == nil {
		c.seen = make(map[namespaceKey]time.Time)
	}
	c.seen[one] = c.clock.Now()
}

// doubt makes the next pass check a namespace again.
func (c *NamespaceCache) doubt(one namespaceKey) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.seen, one)
}
