// SPDX-License-Identifier: Apache-2.0

package federated

import (
	"strconv"
	"sync"
	"time"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/push"
)

// memory is what this process wrote last to each wrapper. The cache lags behind our own writes, and a
// status compared with an old one would be written again, or not at all.
type memory struct {
	mu   sync.Mutex
	last map[push.Key]*wrote
}

// wrote is the last state that the API server returned to us.
type wrote struct {
	wrapper v1alpha1.Wrapper
	// revision is the last ControllerRevision that was written, which the status names only later.
	revision string
	// meant is the deletion, by uid and time, that was seen begin while what the wrapper stands in was not being deleted.
	meant string
	// published is when a status was last written, by the host's clock.
	published time.Time
	// started is when the work that is not yet reported began.
	started time.Time
}

// newest is the newer one of what the cache holds and what we wrote last.
func (m *memory) newest(cached v1alpha1.Wrapper) v1alpha1.Wrapper {
	m.mu.Lock()
	defer m.mu.Unlock()
	last := m.last[keyOf(cached)]
	if last == nil || last.wrapper == nil {
		return cached
	}
	if last.wrapper.GetUID() != cached.GetUID() {
		// Deleted and made anew: nothing that was kept speaks of this one.
		delete(m.last, keyOf(cached))
		return cached
	}
	if newer(last.wrapper, cached) {
		return last.wrapper.DeepCopyObject().(v1alpha1.Wrapper) //nolint:forcetypeassert // a copy of a wrapper is one
	}
	return cached
}

// note keeps what the API server returned.
func (m *memory) note(w v1alpha1.Wrapper) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.entry(keyOf(w)).wrapper = w.DeepCopyObject().(v1alpha1.Wrapper) //nolint:forcetypeassert // a copy of a wrapper is one
}

// revised says whether a revision is known to stand.
func (m *memory) revised(key push.Key, revision string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.entry(key).revision == revision
}

// revise notes that a revision stands.
func (m *memory) revise(key push.Key, revision string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.entry(key).revision = revision
}

// isMeant says whether somebody is known to have deleted this very wrapper, and not what it stands in.
func (m *memory) isMeant(w v1alpha1.Wrapper) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.entry(keyOf(w)).meant == deletionOf(w)
}

// mean notes that somebody has deleted this very wrapper.
func (m *memory) mean(w v1alpha1.Wrapper) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.entry(keyOf(w)).meant = deletionOf(w)
}

// deletionOf tells the deletions of wrappers apart: one that was restored from a backup may be deleted once more.
func deletionOf(w v1alpha1.Wrapper) string {
	return string(w.GetUID()) + " " + w.GetDeletionTimestamp().String()
}

func (m *memory) forget(key push.Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.last, key)
}

// dueIn says how long a status that is not final yet is to be held back: until interval has passed
// since the last one, or since the work began.
func (m *memory) dueIn(key push.Key, now time.Time, interval time.Duration) time.Duration {
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

// published notes that a status was written, or that the one there says all there is to say.
func (m *memory) published(key push.Key, now time.Time, final bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.entry(key)
	e.published = now
	if final {
		e.started = time.Time{}
	}
}

func (m *memory) entry(key push.Key) *wrote {
	if m.last == nil {
		m.last = make(map[push.Key]*wrote)
	}
	if m.last[key] == nil {
		m.last[key] = &wrote{}
	}
	return m.last[key]
}

func keyOf(w v1alpha1.Wrapper) push.Key { return push.KeyOf(v1alpha1.Identity(w)) }

// newer compares resourceVersions of one object, which are ordered numbers since Kubernetes 1.35 and
// were in practice before.
func newer(a, b v1alpha1.Wrapper) bool {
	left, errLeft := strconv.ParseUint(a.GetResourceVersion(), 10, 64)
	right, errRight := strconv.ParseUint(b.GetResourceVersion(), 10, 64)
	return errLeft == nil && errRight == nil && left > right
}
