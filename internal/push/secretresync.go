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

// No collector may read Secrets, so no drift is reported when one is changed on a member. The host therefore
// checks each of them every ten minutes. (docs/design.md, section 3.)
//
// Why it is so: a look reads the object's metadata, no content, and compares its resourceVersion with the one
// that the last apply brought back. As long as that is the same no client can have written anything, and nothing
// is sent, no admission webhook is called, and the member writes nothing. Only where it differs, or is not
// known, the object is applied again: the digest of our fields, by which collectors see drift, would not show
// what was written over stringData or in our own name, an apply mends that too. After a restart each
// Secret is therefore applied once, at its own point of the first ten minutes. What was put right this way
// counts as no fight: once in ten minutes is rare enough.

var secretResource = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}

// secretResync has the Secrets of all pairs looked at in turns.
type secretResync struct {
	pusher *Pusher
	// schedule are the Secrets to look at in turns; enlisted tells of a new one.
	schedule plan.SecretSchedule
	enlisted chan struct{}
	// enlisting keeps what is known of a pair from being overtaken by what was known before.
	enlisting sync.Mutex
}

// run hands out the Secrets whose turn it is until ctx ends.
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
			s.enlist(t.Key, t.Member) // a pair that has ended meanwhile ends here at the latest
			continue
		}
		var due <-chan time.Time // never, where there is none to wait for
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

// enlist has the Secrets of a pair looked after for as long as it is wanted, and seen.
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

// enlistThese is called with enlisting held.
func (s *secretResync) enlistThese(at plan.Pair, names []string) {
	if !s.schedule.Enlist(at, names, s.pusher.clock.Now()) {
		return
	}
	select {
	case s.enlisted <- struct{}{}:
	default:
	}
}

// mayCheck reports whether a pair has come to rest and its member can be asked. It may rest while something in it
// waits, as for a kind that is not served: that has nothing to do with its Secrets.
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

// look has a pair's queue look at a Secret.
func (s *secretResync) enqueue(t plan.Turn) {
	if q := s.pusher.queue(t.Member); q != nil {
		q.dueSecrets.add(t.Key, t.Name)
		q.queue.Add(t.Key)
	}
}

// check adds to the work the Secrets that another client has changed, and those of which that is not known.
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
			// What cannot be looked at is applied: that tells what is in the way.
			todo.Drifted[plan.SecretID(name)] = v1alpha1.DriftChanged
		default:
			return fmt.Errorf("looking at %s on member %s: %w", memberapi.Ref("Secret", name), q.conn.Name(), err)
		}
	}
	return nil
}

// note remembers how a pass left the Secrets that it applied.
func (s *secretResync) note(ctx context.Context, at plan.Pair, desired *plan.Desired, todo *plan.Work, applied []apply.Secret) {
	if !desired.ResyncsSecrets() || len(applied) == 0 {
		return
	}
	var names []string
	for _, secret := range applied {
		names = append(names, secret.Name)
	}
	// The news of the Delivery that lists them may still be on its way.
	s.enlisting.Lock()
	s.enlistThese(at, names)
	s.enlisting.Unlock()
	for _, secret := range applied {
		if secret.ResourceVersion == "" {
			continue
		}
		_, drifted := todo.Drifted[plan.SecretID(secret.Name)]
		if known := s.schedule.Version(at, secret.Name); drifted && known != "" && known != secret.ResourceVersion {
			log.FromContext(ctx).Info("repaired a Secret that another client had changed", "member", at.Member,
				"wrapper", at.Key.String(), "secret", secret.Name)
		}
		s.schedule.Note(at, secret.Name, secret.ResourceVersion)
	}
}

// dueSecrets are the Secrets of one member whose turn it is to be looked at. The zero value has none.
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

// take are the Secrets of a pair to look at, which are then no longer to be looked at.
func (d *dueSecrets) take(key Key) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	names := sets.List(d.names[key])
	delete(d.names, key)
	return names
}
