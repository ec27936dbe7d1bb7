// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/member"
	"github.com/fairlead-dev/fairlead/internal/push/apply"
	"github.com/fairlead-dev/fairlead/internal/push/memberapi"
	"github.com/fairlead-dev/fairlead/internal/push/plan"
)

// No collector may read Secrets, so no collector reports the drift of a Secret. The manager therefore checks each Secret
// every ten minutes. (docs/design.md, section 3.)
//
// Why it is so: a check reads the metadata of the Secret and compares its resourceVersion with that of the last apply. If
// they are equal, no client has written the Secret, and the manager sends nothing more: no admission webhook is called, and
// the member stores nothing. If they differ, or the earlier one is not known, the manager applies the Secret again. It
// does not use the digest of our fields, by which collectors see drift: that digest does not show writes to stringData, or
// writes with our field manager. After a restart the manager applies each Secret once, at its own point of the first ten
// minutes. These repairs need no drift backoff: one in ten minutes is rare enough.

var secretResource = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}

// secretResync checks the Secrets of all pairs in turns.
type secretResync struct {
	pusher *Pusher
	// schedule orders the checks. enlisted signals a new Secret.
	schedule plan.SecretSchedule
	enlisted chan struct{}
	// enlisting is held while a pair is enlisted. Otherwise older data about the pair could overwrite newer data.
	enlisting sync.Mutex
}

// run queues each Secret whose turn has come, until ctx ends.
func (s *secretResync) run(ctx context.Context) {
	for ctx.Err() == nil {
		now := s.pusher.clock.Now()
		t, wait, ok := s.schedule.Next(now)
		switch {
		case ok && s.mayCheck(t.Pair):
			s.schedule.Taken(now)
			s.enqueue(t)
			continue
		case ok:
			s.enlist(t.Key, t.Member) // removes the Secrets of a pair that has ended
			continue
		}
		var due <-chan time.Time // nil: nothing is scheduled
		if wait > 0 {
			due = s.pusher.clock.After(wait)
		}
		select {
		case <-ctx.Done():
		case <-due:
		case <-s.enlisted:
		}
	}
}

// enlist schedules the Secrets of a pair, as long as the pair has a desired state and a Delivery.
func (s *secretResync) enlist(key Key, memberName string) {
	s.enlisting.Lock()
	defer s.enlisting.Unlock()
	desired, q := s.pusher.desired.get(key, memberName), s.pusher.queue(memberName)
	var names []string
	if q != nil && desired.ResyncsSecrets() {
		if seen := q.deliveries.Get(key); seen != nil {
			names = seen.Secrets
		}
	}
	s.enlistThese(plan.Pair{Member: memberName, Key: key}, names)
}

// enlistThese schedules these Secrets. enlisting is held.
func (s *secretResync) enlistThese(at plan.Pair, names []string) {
	if !s.schedule.Enlist(at, names, s.pusher.clock.Now()) {
		return
	}
	select {
	case s.enlisted <- struct{}{}:
	default:
	}
}

// mayCheck reports whether a pair needs no pass and its member answers. Some objects of the pair may still wait, for
// example for a kind that the member does not serve. That does not concern its Secrets.
func (s *secretResync) mayCheck(at plan.Pair) bool {
	desired, q := s.pusher.desired.get(at.Key, at.Member), s.pusher.queue(at.Member)
	if q == nil || !desired.ResyncsSecrets() || desired.Suspended {
		return false
	}
	if q.breaker.isOpen() || !q.deliveries.IsListed() {
		return false
	}
	seen := q.deliveries.Get(at.Key)
	return desired.IsHeldBy(seen) || desired.IsRecordedBy(seen) && q.histories.rests(at.Key, desired, seen)
}

// enqueue queues a pair for the check of one of its Secrets.
func (s *secretResync) enqueue(t plan.Turn) {
	if q := s.pusher.queue(t.Member); q != nil {
		q.dueSecrets.add(t.Key, t.Name)
		q.queue.Add(t.Key)
	}
}

// check adds to the work each Secret that another client has changed, and each without a known resourceVersion.
func (s *secretResync) check(ctx context.Context, q *memberQueue, key Key, todo *plan.Work) error {
	for _, name := range todo.Secrets {
		known := s.schedule.Version(plan.Pair{Member: q.conn.Name(), Key: key}, name)
		if known == "" {
			todo.Drifted[plan.SecretID(name)] = v1alpha1.DriftChanged
			continue
		}
		found, err := memberapi.Metadata(ctx, q.conn, member.Path(secretResource, key.Namespace, name))
		switch {
		case err == nil && found.ResourceVersion == known:
		case apierrors.IsNotFound(err):
			todo.Drifted[plan.SecretID(name)] = v1alpha1.DriftGone
		case err == nil || memberapi.Answered(err):
			// The manager applies a Secret that it cannot read: the refusal of the apply gives the cause.
			todo.Drifted[plan.SecretID(name)] = v1alpha1.DriftChanged
		default:
			return fmt.Errorf("checking %s on member %s: %w", memberapi.Ref("Secret", name), q.conn.Name(), err)
		}
	}
	return nil
}

// note records the resourceVersions of the Secrets that a pass applied.
func (s *secretResync) note(ctx context.Context, at plan.Pair, desired *plan.Desired, todo *plan.Work, applied []apply.Secret) {
	if !desired.ResyncsSecrets() || len(applied) == 0 {
		return
	}
	var names []string
	for _, secret := range applied {
		names = append(names, secret.Name)
	}
	// The watch event for the Delivery that lists these Secrets may not have arrived yet. So note adds them to the
	// schedule itself.
	s.enlisting.Lock()
	s.enlistThese(at, names)
	s.enlisting.Unlock()
	for _, secret := range applied {
		if secret.ResourceVersion == "" {
			continue
		}
		_, drifted := todo.Drifted[plan.SecretID(secret.Name)]
		if known := s.schedule.Version(at, secret.Name); drifted && known != "" && known != secret.ResourceVersion {
			log.FromContext(ctx).Info("repaired a Secret that another client had changed or deleted", "member", at.Member,
				"wrapper", at.Key.String(), "secret", secret.Name)
		}
		s.schedule.Note(at, secret.Name, secret.ResourceVersion)
	}
}

// dueSecrets are the Secrets of one member whose turn has come. The zero value has none.
type dueSecrets struct {
	mu    sync.Mutex
	names map[Key]sets.Set[string]
}

func (d *dueSecrets) add(key Key, name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.names == nil {
		d.names = make(map[Key]sets.Set[string])
	}
	if d.names[key] == nil {
		d.names[key] = sets.New[string]()
	}
	d.names[key].Insert(name)
}

// take returns the due Secrets of a pair, and removes them.
func (d *dueSecrets) take(key Key) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	names := sets.List(d.names[key])
	delete(d.names, key)
	return names
}
