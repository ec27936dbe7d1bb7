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

// writeCache is what this process wrote last to each wrapper, until the cache has caught up with it. The cache lags behind our
// own writes, and a status compared with an old one would be written again, or not at all.
type writeCache struct {
	mu   sync.Mutex
	last map[push.Key]*lastWrite
}

// lastWrite is the last state that the API server returned to us.
type lastWrite struct {
	// uid is of which wrapper all this is told.
	uid types.UID
	// wrapper is what it was, nil where the cache has it; cached is the last resourceVersion that the cache has brought.
	wrapper v1alpha1.Wrapper
	cached  string
	// revision is the last ControllerRevision that was written, which the status names only later.
	revision string
	// intended is the deletion, by uid and time, that was seen begin while what the wrapper stands in was not being deleted.
	intended string
	// published is when a status was last written, by the host's clock.
	published time.Time
	// started is when the work that is not yet reported began.
	started time.Time
}

// newest is the newer one of what the cache holds and what we wrote last.
func (m *writeCache) newest(cached v1alpha1.Wrapper) v1alpha1.Wrapper {
	m.mu.Lock()
	defer m.mu.Unlock()
	last := m.entry(keyOf(cached))
	if last.uid != cached.GetUID() {
		// Deleted and made anew: nothing that was kept speaks of this one.
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

// caughtUp takes in what the cache has brought, and lets go of what was written last where that is no newer.
func (m *writeCache) caughtUp(cached v1alpha1.Wrapper) {
	m.mu.Lock()
	defer m.mu.Unlock()
	last := m.entry(keyOf(cached))
	last.cached = cached.GetResourceVersion()
	if last.wrapper != nil && !newer(last.wrapper.GetResourceVersion(), last.cached) {
		last.wrapper = nil
	}
}

// noteWritten keeps what the API server returned, unless the cache has brought it already.
func (m *writeCache) noteWritten(w v1alpha1.Wrapper) {
	m.mu.Lock()
	defer m.mu.Unlock()
	last := m.entry(keyOf(w))
	last.uid, last.wrapper = w.GetUID(), nil
	if last.cached == "" || newer(w.GetResourceVersion(), last.cached) {
		last.wrapper = w.DeepCopyObject().(v1alpha1.Wrapper) //nolint:forcetypeassert // a copy of a wrapper is one
	}
}

// hasRevision says whether a revision is known to stand.
func (m *writeCache) hasRevision(key push.Key, revision string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.entry(key).revision == revision
}

// noteRevision notes that a revision stands.
func (m *writeCache) noteRevision(key push.Key, revision string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.entry(key).revision = revision
}

// isIntended says whether somebody is known to have deleted this very wrapper, and not what it stands in.
func (m *writeCache) isIntended(w v1alpha1.Wrapper) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.entry(keyOf(w)).intended == deletionOf(w)
}

// noteIntended notes that somebody has deleted this very wrapper.
func (m *writeCache) noteIntended(w v1alpha1.Wrapper) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.entry(keyOf(w)).intended = deletionOf(w)
}

// deletionOf tells the deletions of wrappers apart: one that was restored from a backup may be deleted once more.
func deletionOf(w v1alpha1.Wrapper) string {
	return string(w.GetUID()) + " " + w.GetDeletionTimestamp().String()
}

func (m *writeCache) forget(key push.Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.last, key)
}

// dueIn says how long a status that is not final yet is to be held back: until interval has passed
// since the last one, or since the work began.
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

// notePublished notes that a status was written, or that the one there says all there is to say.
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

// newer compares resourceVersions of one object, which are ordered numbers since Kubernetes 1.35 and
// were in practice before.
func newer(a, b string) bool {
	left, errLeft := strconv.ParseUint(a, 10, 64)
	right, errRight := strconv.ParseUint(b, 10, 64)
	return errLeft == nil && errRight == nil && left > right
}
