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

// Why the manager checks Secrets: collectors must not read Secrets, so they report no drift of a Secret. The manager
// itself checks each Secret every ten minutes (docs/design.md, section 3), and repairs it if it has changed.
//
// A check reads only the metadata of the Secret. It compares the resourceVersion with the one that the last apply
// returned. If both are equal, no client has written the Secret, and nothing more is sent. If they differ, or the
// manager does not know the resourceVersion of the last apply, it applies the Secret again. So after a restart it
// applies each Secret once, at some time within the first ten minutes.
//
// Collectors compare a digest of managedFields. Why a check does not: that digest shows neither writes to stringData
// nor writes with Fairlead's field manager. Why repairs of Secrets have no drift backoff: one repair of a Secret in ten
// minutes is rare enough.

var secretResource = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}

// secretResync checks the Secrets of all pairs, one after another.
type secretResync struct {
	pusher *Pusher
	// schedule decides when each Secret is checked.
	schedule plan.SecretSchedule
	// enlisted gets a signal when the schedule has got a new Secret. The method run waits for it.
	enlisted chan struct{}
	// enlisting is locked while the names of a pair's Secrets are read and then scheduled. Without the lock, older names
	// could overwrite newer ones.
	enlisting sync.Mutex
}

// run queues the pair of each Secret that is due for a check, until ctx ends.
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
			s.enlist(t.Key, t.Member) // reads the pair's Secrets again, and drops them from the schedule if they need no checks any more
			continue
		}
		var due <-chan time.Time // nil, which blocks forever, if nothing is scheduled
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

// enlist schedules the Secrets that a pair's Delivery lists. It removes the pair's Secrets from the schedule if the
// pair has no desired state or no Delivery, or if drift is Report.
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

// enlistThese schedules the Secrets with these names, and no other Secrets of the pair. The caller holds s.enlisting.
func (s *secretResync) enlistThese(at plan.Pair, names []string) {
	if !s.schedule.Enlist(at, names, s.pusher.clock.Now()) {
		return
	}
	select {
	case s.enlisted <- struct{}{}:
	default:
	}
}

// mayCheck reports whether a Secret of a pair may be checked now: no pass of the pair is due, and the member answers.
// Other objects of the pair may still be missing, for example because the member does not serve their kind.
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

// enqueue queues the pair of a Secret, so that the queue checks the Secret.
func (s *secretResync) enqueue(t plan.Turn) {
	if q := s.pusher.queue(t.Member); q != nil {
		q.dueSecrets.add(t.Key, t.Name)
		q.queue.Add(t.Key)
	}
}

// check checks the Secrets in todo.Secrets. It adds to todo.Drifted each Secret that another client changed or deleted.
// It also adds a Secret if the manager does not know the resourceVersion of its last apply.
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
			// Either another client has changed the Secret, or the API server refused to let the manager read it. In the second
			// case, apply it anyway: the refusal of the apply names the missing right.
			todo.Drifted[plan.SecretID(name)] = v1alpha1.DriftChanged
		default:
			return fmt.Errorf("checking %s on member %s: %w", memberapi.Ref("Secret", name), q.conn.Name(), err)
		}
	}
	return nil
}

// note records the resourceVersions that the applies of a pass returned for the pair's Secrets.
func (s *secretResync) note(ctx context.Context, at plan.Pair, desired *plan.Desired, todo *plan.Work, applied []apply.Secret) {
	if !desired.ResyncsSecrets() || len(applied) == 0 {
		return
	}
	var names []string
	for _, secret := range applied {
		names = append(names, secret.Name)
	}
	// Schedule the Secrets here, because the watch event of the Delivery that lists them may come later.
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

// dueSecrets are the Secrets of one member that are due for a check, until a pass of their pair takes them. The zero
// value has none.
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
