// SPDX-License-Identifier: Apache-2.0

package federated

import (
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/push"
)

// writeCache keeps the last write of this process to each wrapper until the cache has caught up. The cache lags behind these
// writes. Without writeCache the manager would compare a new status with an old one, and write it twice or not at all.
type writeCache struct {
	mu   sync.Mutex
	last map[push.Key]*lastWrite
}

// lastWrite is the last state that the API server returned to this process.
type lastWrite struct {
	// uid is that of the wrapper.
	uid types.UID
	// wrapper is nil once the cache has it. cached is the last resourceVersion that arrived in the cache.
	wrapper v1alpha1.Wrapper
	cached  string
	// revision is the last ControllerRevision that this process wrote. The status names it only later.
	revision string
	// intended is the deletion, by uid and time, that began while neither the namespace nor the CRD was being deleted.
	intended string
	// published is when the last status was written, by the host's clock.
	published time.Time
	// started is when the pushes began that no status reports yet.
	started time.Time
}

// newest is the newer one of the cache's copy and the last write of this process.
func (m *writeCache) newest(cached v1alpha1.Wrapper) v1alpha1.Wrapper {
	m.mu.Lock()
	defer m.mu.Unlock()
	last := m.entry(keyOf(cached))
	if last.uid != cached.GetUID() {
		// The wrapper was deleted and made again: nothing in the old entry is about the new one.
		*last = lastWrite{uid: cached.GetUID()}
	}
	if last.wrapper == nil {
		return cached
	}
	if newer(last.wrapper.GetResourceVersion(), cached.GetResourceVersion()) {
		return last.wrapper.DeepCopyObject().(v1alpha1.Wrapper) //nolint:forcetypeassert // a copy of a wrapper is one
	}
	last.wrapper = nil
	return cached
}

// caughtUp records a copy that has arrived in the cache. It drops the last write unless that is newer.
func (m *writeCache) caughtUp(cached v1alpha1.Wrapper) {
	m.mu.Lock()
	defer m.mu.Unlock()
	last := m.entry(keyOf(cached))
	last.cached = cached.GetResourceVersion()
	if last.wrapper != nil && !newer(last.wrapper.GetResourceVersion(), last.cached) {
		last.wrapper = nil
	}
}

// noteWritten keeps the wrapper that the API server returned, unless the cache has it already.
func (m *writeCache) noteWritten(w v1alpha1.Wrapper) {
	m.mu.Lock()
	defer m.mu.Unlock()
	last := m.entry(keyOf(w))
	last.uid, last.wrapper = w.GetUID(), nil
	if last.cached == "" || newer(w.GetResourceVersion(), last.cached) {
		last.wrapper = w.DeepCopyObject().(v1alpha1.Wrapper) //nolint:forcetypeassert // a copy of a wrapper is one
	}
}

// hasRevision reports whether this process wrote or found a revision.
func (m *writeCache) hasRevision(key push.Key, revision string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.entry(key).revision == revision
}

// noteRevision notes that a revision exists.
func (m *writeCache) noteRevision(key push.Key, revision string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.entry(key).revision = revision
}

// isIntended reports whether a user is known to have deleted this very wrapper, and not its namespace or CRD.
func (m *writeCache) isIntended(w v1alpha1.Wrapper) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.entry(keyOf(w)).intended == deletionOf(w)
}

// noteIntended notes that a user has deleted this very wrapper.
func (m *writeCache) noteIntended(w v1alpha1.Wrapper) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.entry(keyOf(w)).intended = deletionOf(w)
}

// deletionOf tells deletions apart: a wrapper that was restored from a backup may be deleted once more.
func deletionOf(w v1alpha1.Wrapper) string {
	return string(w.GetUID()) + " " + w.GetDeletionTimestamp().String()
}

func (m *writeCache) forget(key push.Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.last, key)
}

// dueIn is how long to hold back a status that is not final. It is held until interval has passed since the last
// status, or since the pushes began.
func (m *writeCache) dueIn(key push.Key, now time.Time, interval time.Duration) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.entry(key)
	if e.started.IsZero() {
		e.started = now
	}
	since := e.started
	if e.published.After(since) {
		since = e.published
	}
	return max(0, since.Add(interval).Sub(now))
}

// notePublished notes that a status was written, or that the present one is up to date.
func (m *writeCache) notePublished(key push.Key, now time.Time, final bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.entry(key)
	e.published = now
	if final {
		e.started = time.Time{}
	}
}

func (m *writeCache) entry(key push.Key) *lastWrite {
	if m.last == nil {
		m.last = make(map[push.Key]*lastWrite)
	}
	if m.last[key] == nil {
		m.last[key] = &lastWrite{}
	}
	return m.last[key]
}

func keyOf(w v1alpha1.Wrapper) push.Key { return push.KeyOf(v1alpha1.Identity(w)) }

// newer compares resourceVersions of one object. Kubernetes promises since 1.35 that they are ordered numbers; they were
// before, too.
func newer(a, b string) bool {
	left, errLeft := strconv.ParseUint(a, 10, 64)
	right, errRight := strconv.ParseUint(b, 10, 64)
	return errLeft == nil && errRight == nil && left > right
}
