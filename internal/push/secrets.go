// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
	"github.com/fairlead-dev/fairlead/internal/member"
)

// No collector may read Secrets, so nobody tells of one that was changed on a member. The host therefore
// looks after each of them again every ten minutes. (docs/design.md, section 3.)
//
// Why it is so: a look reads the object's metadata, no content, and compares its resourceVersion with the one
// that the last apply brought back. As long as that is the same nobody can have written anything, and nothing
// is sent, no admission webhook is called, and the member writes nothing. Only where it differs, or is not
// known, the object is applied again: the digest of our fields, by which collectors see drift, would not show
// what was written over stringData or in our own name, an apply mends that too. After a restart each
// Secret is therefore applied once, at its own point of the first ten minutes. What was put right this way
// counts as no fight: once in ten minutes is rare enough.

var secrets = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}

func secretID(name string) identity { return identity{kind: "Secret", name: name} }

func (id identity) isSecret() bool { return id == secretID(id.name) }

// makeRounds hands out the Secrets whose turn it is until ctx ends.
func (p *Pusher) makeRounds(ctx context.Context) {
	for ctx.Err() == nil {
		now := p.clock.Now()
		t, wait, ok := p.rounds.next(now)
		switch {
		case ok && p.mayLook(t.place):
			p.rounds.taken(now)
			p.look(t)
			continue
		case ok:
			p.enlist(t.key, t.member) // a pair that has ended meanwhile ends here at the latest
			continue
		}
		var due <-chan time.Time // never, where there is none to wait for
		if wait > 0 {
			due = p.clock.After(wait)
		}
		select {
		case <-ctx.Done():
		case <-due:
		case <-p.enlisted:
		}
	}
}

// enlist has the Secrets of a pair looked after for as long as it is wanted, and seen.
func (p *Pusher) enlist(key Key, memberName string) {
	p.enlisting.Lock()
	defer p.enlisting.Unlock()
	p.mu.RLock()
	want, l := p.wants[key][memberName], p.lanes[memberName]
	p.mu.RUnlock()
	var names []string
	if l != nil && want.looksAfterSecrets() {
		names = l.secretsOf(key)
	}
	p.enlistThese(place{memberName, key}, names)
}

// enlistThese is called with p.enlisting held.
func (p *Pusher) enlistThese(at place, names []string) {
	if !p.rounds.enlist(at, names, p.clock.Now()) {
		return
	}
	select {
	case p.enlisted <- struct{}{}:
	default:
	}
}

// looksAfterSecrets says whether Secrets that others change are to be put right.
func (w *Want) looksAfterSecrets() bool {
	return w != nil && !w.Leaving() && w.Drift == v1alpha1.DriftRepair
}

// mayLook says whether a pair has come to rest and its member can be asked. It may rest while something in it
// waits, as for a kind that is not served: that has nothing to do with its Secrets.
func (p *Pusher) mayLook(at place) bool {
	p.mu.RLock()
	want, l := p.wants[at.key][at.member], p.lanes[at.member]
	p.mu.RUnlock()
	if l == nil || !want.looksAfterSecrets() || want.Suspended {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	seen := l.deliveries.Get(at.key)
	return !l.broken && l.deliveries.IsListed() && (want.IsHeldBy(seen) || want.isRecordedBy(seen) && l.rests(at.key, want))
}

// look has a pair's lane look at a Secret.
func (p *Pusher) look(t turn) {
	l := p.lane(t.member)
	if l == nil {
		return
	}
	l.mu.Lock()
	if l.looks[t.key] == nil {
		l.looks[t.key] = sets.New[string]()
	}
	l.looks[t.key].Insert(t.name)
	l.mu.Unlock()
	l.queue.Add(t.key)
}

func (l *lane) secretsOf(key Key) []string {
	if seen := l.deliveries.Get(key); seen != nil {
		return seen.Secrets
	}
	return nil
}

// takeLooks are the Secrets of a pair to look at, which are then no longer to be looked at. l.mu is held.
func (l *lane) takeLooks(key Key) []string {
	names := sets.List(l.looks[key])
	delete(l.looks, key)
	return names
}

// lookAtSecrets adds to the work the Secrets that somebody has touched, or of which that is not known.
func (l *lane) lookAtSecrets(ctx context.Context, key Key, todo *work) error {
	for _, name := range todo.secrets {
		known := l.pusher.rounds.version(place{l.conn.Name(), key}, name)
		if known == "" {
			todo.drifted[secretID(name)] = v1alpha1.DriftChanged
			continue
		}
		found, err := metadata(ctx, l.conn, member.Path(secrets, key.Namespace, name))
		switch {
		case err == nil && found.ResourceVersion == known:
		case apierrors.IsNotFound(err):
			todo.drifted[secretID(name)] = v1alpha1.DriftGone
		case err == nil || answered(err):
			// What cannot be looked at is applied: that tells what is in the way.
			todo.drifted[secretID(name)] = v1alpha1.DriftChanged
		default:
			return fmt.Errorf("looking at %s on member %s: %w", ref("Secret", name), l.conn.Name(), err)
		}
	}
	return nil
}

// noteSecrets remembers how a pass left the Secrets that it applied.
func (l *lane) noteSecrets(ctx context.Context, key Key, p *pass) {
	if !p.want.looksAfterSecrets() {
		return
	}
	at := place{l.conn.Name(), key}
	var names []string
	for _, it := range p.items {
		if deliveries.IsSecret(&it.entry) {
			names = append(names, it.entry.Name)
		}
	}
	if len(names) == 0 {
		return
	}
	// The news of the Delivery that lists them may still be on its way.
	l.pusher.enlisting.Lock()
	l.pusher.enlistThese(at, names)
	l.pusher.enlisting.Unlock()
	for _, it := range p.items {
		if !deliveries.IsSecret(&it.entry) || it.version == "" {
			continue
		}
		_, drifted := p.drifted[it.id()]
		if known := l.pusher.rounds.version(at, it.entry.Name); drifted && known != "" && known != it.version {
			log.FromContext(ctx).Info("a Secret that somebody had touched was put right", "member", l.conn.Name(),
				"wrapper", key.String(), "secret", it.entry.Name)
		}
		l.pusher.rounds.note(at, it.entry.Name, it.version)
	}
}
