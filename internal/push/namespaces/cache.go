// SPDX-License-Identifier: Apache-2.0

package namespaces

import (
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// These durations bound how long the manager may go on writing into a namespace after the member has closed it.
const (
	// openForPushes is how long a pass without repairs may rely on an earlier pass that found the namespace open.
	openForPushes = 10 * time.Second
	// openForRepairs is how long a pass with repairs may rely on an earlier pass that found the namespace open.
	openForRepairs = time.Second
)

// Cache remembers which namespaces of one member a pass recently found open to the host. Because of it, a
// thousand wrappers in ten namespaces do not need a thousand reads. It may still have a namespace that was deleted.
// That is no risk, because the API server refuses a write into a namespace that does not exist.
type Cache struct {
	clock clock.PassiveClock

	mu   sync.Mutex
	seen map[cacheKey]time.Time
}

// cacheKey is a namespace, with the namespacePolicy under which a pass found it open.
type cacheKey struct {
	policy    v1alpha1.NamespacePolicy
	namespace string
}

// NewCache returns an empty cache.
func NewCache(clk clock.PassiveClock) *Cache { return &Cache{clock: clk} }

// isOpen reports whether a pass has found the namespace open, less than the given duration ago (parameter while). A nil
// cache has no namespaces.
func (c *Cache) isOpen(one cacheKey, while time.Duration) bool {
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	at, ok := c.seen[one]
	return ok && c.clock.Since(at) < while
}

// found records that a pass has just found a namespace open.
func (c *Cache) found(one cacheKey) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seen == nil {
		c.seen = make(map[cacheKey]time.Time)
	}
	c.seen[one] = c.clock.Now()
}

// doubt drops a namespace from the cache, so that the next pass reads the namespace again.
func (c *Cache) doubt(one cacheKey) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.seen, one)
}
