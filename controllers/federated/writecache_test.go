// SPDX-License-Identifier: Apache-2.0

package federated

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/push"
)

var (
	now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	web = push.Key{Kind: v1alpha1.KindFederated, NamespacedName: types.NamespacedName{Namespace: "shop", Name: "web"}}
)

func wrapper(uid types.UID, resourceVersion string, generation int64) *v1alpha1.Federated {
	w := &v1alpha1.Federated{}
	w.Namespace, w.Name, w.UID, w.ResourceVersion, w.Generation = "shop", "web", uid, resourceVersion, generation
	return w
}

func TestNewestIsTheNewerOfCacheAndLastWrite(t *testing.T) {
	for name, test := range map[string]struct {
		noted, cached *v1alpha1.Federated
		want          string // the resourceVersion
	}{
		"the manager has written nothing":               {nil, wrapper("u", "5", 1), "5"},
		"the cache has an older version than the write": {wrapper("u", "9", 1), wrapper("u", "5", 1), "9"},
		"the cache has the written version":             {wrapper("u", "9", 1), wrapper("u", "9", 1), "9"},
		"the cache has a newer version than the write":  {wrapper("u", "9", 1), wrapper("u", "10", 2), "10"},
		"the wrapper was created again":                 {wrapper("u", "9", 1), wrapper("v", "5", 1), "5"},
		"resourceVersions that are no numbers":          {wrapper("u", "x9", 1), wrapper("u", "5", 1), "5"},
	} {
		t.Run(name, func(t *testing.T) {
			var m writeCache
			if test.noted != nil {
				m.noteWritten(test.noted)
			}
			if got := m.newest(test.cached).GetResourceVersion(); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestTheWriteCacheKeepsItsOwnCopy(t *testing.T) {
	var m writeCache
	w := wrapper("u", "9", 1)
	m.noteWritten(w)
	w.Status.UpdateRevision = "changed after"
	first := m.newest(wrapper("u", "1", 1))
	first.WrapperStatus().UpdateRevision = "changed by a pass"
	if got := m.newest(wrapper("u", "1", 1)).WrapperStatus().UpdateRevision; got != "" {
		t.Errorf("the read returned %q", got)
	}
}

func TestTheWriteCacheForgetsRevisions(t *testing.T) {
	var m writeCache
	m.noteWritten(wrapper("u", "9", 1))
	m.noteRevision(web, "fed-web-1")
	m.newest(wrapper("v", "12", 1))
	if m.hasRevision(web, "fed-web-1") {
		t.Error("a revision of the earlier wrapper must not count as written")
	}
	m.noteRevision(web, "fed-web-2")
	m.forget(web)
	if m.hasRevision(web, "fed-web-2") {
		t.Error("a dropped revision must not count as written")
	}
}

func TestPacingOfStatuses(t *testing.T) {
	const interval = time.Second
	at := now.Add
	for name, test := range map[string]struct {
		before func(m *writeCache)
		at     time.Duration
		want   time.Duration
	}{
		"work that has just begun is held back": {before: func(*writeCache) {}, want: interval},
		"work that began one interval ago is reported": {
			before: func(m *writeCache) { m.dueIn(web, now, interval) }, at: interval, want: 0,
		},
		"work that began less than that ago waits for the rest": {
			before: func(m *writeCache) { m.dueIn(web, now, interval) }, at: 400 * time.Millisecond, want: 600 * time.Millisecond,
		},
		"after a written status the next one is held back again": {
			before: func(m *writeCache) { m.dueIn(web, now, interval); m.notePublished(web, at(time.Second), false) },
			at:     1200 * time.Millisecond, want: 800 * time.Millisecond,
		},
		"long work is reported once in an interval": {
			before: func(m *writeCache) {
				m.dueIn(web, now, interval)
				for i := range 10 {
					m.notePublished(web, at(time.Duration(i+1)*time.Second), false)
				}
			}, at: 11 * time.Second, want: 0,
		},
		"after the work is done, the next work is held back again": {
			before: func(m *writeCache) { m.dueIn(web, now, interval); m.notePublished(web, at(time.Second), true) },
			at:     time.Hour, want: interval,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var m writeCache
			test.before(&m)
			if got := m.dueIn(web, at(test.at), interval); got != test.want {
				t.Errorf("the status is due in %s, want %s", got, test.want)
			}
		})
	}
}

// The write cache may keep a copy only until the manager's cache has the write. If it kept all copies, it would use as
// much memory as a second cache.
func TestTheWriteCacheDropsAWriteThatTheCacheHas(t *testing.T) {
	written := wrapper("u", "9", 1)
	for name, test := range map[string]struct {
		play func(*writeCache)
		kept bool
	}{
		"it was written":                                 {func(m *writeCache) { m.noteWritten(written) }, true},
		"the cache has the state before it":              {func(m *writeCache) { m.noteWritten(written); m.caughtUp(wrapper("u", "8", 1)) }, true},
		"the cache has it":                               {func(m *writeCache) { m.noteWritten(written); m.caughtUp(wrapper("u", "9", 1)) }, false},
		"the cache has a later state":                    {func(m *writeCache) { m.noteWritten(written); m.caughtUp(wrapper("u", "10", 1)) }, false},
		"the cache had it before the write was recorded": {func(m *writeCache) { m.caughtUp(wrapper("u", "9", 1)); m.noteWritten(written) }, false},
		"a read finds it in the cache, without an event": {func(m *writeCache) { m.noteWritten(written); m.newest(wrapper("u", "9", 1)) }, false},
		"it was written again after the cache had it": {func(m *writeCache) {
			m.caughtUp(wrapper("u", "9", 1))
			m.noteWritten(wrapper("u", "11", 1))
			m.caughtUp(wrapper("u", "10", 1))
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			var m writeCache
			test.play(&m)
			if kept := m.last[web].wrapper != nil; kept != test.kept {
				t.Errorf("kept: %v", kept)
			}
		})
	}
}

// The entry of a deleted wrapper must not be used for a new wrapper of the same name.
func TestTheWriteCacheForgetsAWrapperThatWasMadeAgain(t *testing.T) {
	var m writeCache
	m.newest(wrapper("u", "9", 1))
	m.noteRevision(web, "fed-web-1")
	if !m.hasRevision(web, "fed-web-1") {
		t.Fatal("the write cache must still have the revision")
	}
	m.newest(wrapper("v", "10", 1))
	if m.hasRevision(web, "fed-web-1") {
		t.Error("a revision of the earlier wrapper must not count for the new one")
	}
}
