// SPDX-License-Identifier: Apache-2.0

package federated

import (
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/coalesce"
	"github.com/fairlead-dev/fairlead/internal/push"
)

// writeCache keeps this process's last write to each wrapper until the manager's cache has that write. Without it, a
// reconcile could compare its new status with an outdated one, and then write the status twice or not at all.
type writeCache struct {
	mu   sync.Mutex
	last map[push.Key]*lastWrite
}

// lastWrite is what the writeCache has about one wrapper.
type lastWrite struct {
	// uid is the uid of the wrapper.
	uid types.UID
	// wrapper is the wrapper as the API server returned it after the last write; nil once the cache has that write.
	wrapper v1alpha1.Wrapper
	// cached is the resourceVersion of the copy that the cache received last; "" before the first one.
	cached string
	// revision is the name of the last ControllerRevision that this process wrote or found. The status names that
	// revision only after the next write of the status.
	revision string
	// intended identifies a deletion of the wrapper (see deletionOf) that began while neither the namespace nor the CRD
	// was being deleted; "" if there is none.
	intended string
	// published is when this process last wrote the status, or last found it up to date, by the host's clock.
	published time.Time
	// started is when this process first saw the pushes that are under way now; zero if no push is under way.
	started time.Time
	// statuses are this process's writes of the status.
	statuses coalesce.Writes
}

// newest returns the copy in the cache or the last write of this process, whichever is newer.
func (m *writeCache) newest(cached v1alpha1.Wrapper) v1alpha1.Wrapper {
	m.mu.Lock()
	defer m.mu.Unlock()
	last := m.entry(keyOf(cached))
	if last.uid != cached.GetUID() {
		// The wrapper was deleted and created again: the old entry describes the earlier wrapper.
		*last = lastWrite{uid: cached.GetUID()}
	}
	if last.wrapper == nil {
		return cached
	}
	if newer(last.wrapper.GetResourceVersion(), cached.GetResourceVersion()) {
		return last.wrapper.DeepCopyObject().(v1alpha1.Wrapper) //nolint:forcetypeassert // the copy of a Wrapper is a Wrapper
	}
	last.wrapper = nil
	return cached
}

// caughtUp records the copy that the cache has received. It drops the last write if that copy is at least as new.
func (m *writeCache) caughtUp(cached v1alpha1.Wrapper) {
	m.mu.Lock()
	defer m.mu.Unlock()
	last := m.entry(keyOf(cached))
	last.cached = cached.GetResourceVersion()
	if last.wrapper != nil && !newer(last.wrapper.GetResourceVersion(), last.cached) {
		last.wrapper = nil
	}
}

// noteWritten keeps the wrapper that the API server returned, unless the cache has this version of it already.
func (m *writeCache) noteWritten(w v1alpha1.Wrapper) {
	m.mu.Lock()
	defer m.mu.Unlock()
	last := m.entry(keyOf(w))
	last.uid, last.wrapper = w.GetUID(), nil
	if last.cached == "" || newer(w.GetResourceVersion(), last.cached) {
		last.wrapper = w.DeepCopyObject().(v1alpha1.Wrapper) //nolint:forcetypeassert // the copy of a Wrapper is a Wrapper
	}
}

// hasRevision reports whether the given ControllerRevision is the last one that this process wrote or found.
func (m *writeCache) hasRevision(key push.Key, revision string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.entry(key).revision == revision
}

// noteRevision records that a ControllerRevision exists.
func (m *writeCache) noteRevision(key push.Key, revision string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.entry(key).revision = revision
}

// isIntended reports whether the manager has already found that a person deleted the wrapper itself, and not only its
// namespace or CRD.
func (m *writeCache) isIntended(w v1alpha1.Wrapper) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.entry(keyOf(w)).intended == deletionOf(w)
}

// noteIntended records that a person deleted the wrapper itself, and not only its namespace or CRD.
func (m *writeCache) noteIntended(w v1alpha1.Wrapper) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.entry(keyOf(w)).intended = deletionOf(w)
}

// deletionOf identifies a deletion by the wrapper's uid and the deletionTimestamp. The uid alone does not suffice: a
// wrapper that was restored from a backup of etcd keeps its uid, and may be deleted once more.
func deletionOf(w v1alpha1.Wrapper) string {
	return string(w.GetUID()) + " " + w.GetDeletionTimestamp().String()
}

func (m *writeCache) forget(key push.Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.last, key)
}

// dueIn returns how long the manager still has to delay a status while pushes are under way. The delay ends when
// interval has passed since the last status, or since this process first saw these pushes, whichever is later.
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

// notePublished records that the manager wrote a status, or found that the present one is up to date. final is true if
// no push is under way.
func (m *writeCache) notePublished(key push.Key, now time.Time, final bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.entry(key)
	e.published = now
	if final {
		e.started = time.Time{}
	}
}

// waitsFor returns how long the manager still has to delay a change of the status that is no news.
func (m *writeCache) waitsFor(key push.Key, change coalesce.Change, now time.Time) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.entry(key).statuses.Wait(change, now)
}

// noteChange records that the manager wrote a change of the status.
func (m *writeCache) noteChange(key push.Key, change coalesce.Change, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.entry(key).statuses.Wrote(change, now)
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

// newer reports whether resourceVersion a is later than b. Both have to be of the same object. Kubernetes guarantees
// since 1.35 that resourceVersions are ordered numbers; earlier versions behave the same.
func newer(a, b string) bool {
	left, errLeft := strconv.ParseUint(a, 10, 64)
	right, errRight := strconv.ParseUint(b, 10, 64)
	return errLeft == nil && errRight == nil && left > right
}
