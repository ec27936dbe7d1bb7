// SPDX-License-Identifier: Apache-2.0

package push

import (
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// roster is which wrappers the host has, by which Deliveries are told apart from orphans: those that no
// wrapper accounts for. Nothing follows from being one but that it is told.
type roster struct {
	mu sync.RWMutex
	// complete is whether every wrapper was enrolled once: before that any Delivery would look like an
	// orphan.
	complete bool
	wrappers map[Key]types.UID
	// decided are the wrappers of which it is known where they are wanted.
	decided map[Key]decision
	// told is told of a member whose orphans have changed. It must not block.
	told func(memberName string)
}

// decision is what a wrapper's wants do not say themselves.
type decision struct {
	uid types.UID
	// unrendered are the members that it is placed on, and of which nothing is wanted for now.
	unrendered []string
}

// orphans are the Deliveries of one member that no wrapper accounts for.
type orphans struct {
	// accounting keeps what is known of a Delivery from being overtaken by what was known before.
	accounting sync.Mutex

	mu    sync.Mutex
	names map[string]bool
}

// OnOrphans registers what is told of a member whose orphans have changed. It must not block. Register
// before the first Enroll.
func (p *Pusher) OnOrphans(told func(memberName string)) { p.roster.told = told }

// Enroll notes that the host has a wrapper.
func (p *Pusher) Enroll(key Key, uid types.UID) {
	p.roster.mu.Lock()
	if p.roster.wrappers == nil {
		p.roster.wrappers = make(map[Key]types.UID)
	}
	known := p.roster.wrappers[key] == uid
	p.roster.wrappers[key] = uid
	p.roster.mu.Unlock()
	if !known {
		p.accountAll(key)
	}
}

// Strike notes that a wrapper is gone, unless another of its name is there already.
func (p *Pusher) Strike(key Key, uid types.UID) {
	p.roster.mu.Lock()
	if p.roster.wrappers[key] == uid {
		delete(p.roster.wrappers, key)
	}
	if p.roster.decided[key].uid == uid {
		delete(p.roster.decided, key)
	}
	p.roster.mu.Unlock()
	p.accountAll(key)
}

// Enrolled says that every wrapper which the host has was enrolled.
func (p *Pusher) Enrolled() {
	p.roster.mu.Lock()
	p.roster.complete = true
	p.roster.mu.Unlock()
	for _, l := range p.allLanes() {
		p.tellOrphans(l)
	}
}

// Decided notes that all that is wanted for a wrapper has been said, here and now: its Delivery on any other
// member, and that of an earlier one of its name, is an orphan. unrendered are the members that it is
// placed on all the same, though there is nothing that could be pushed.
func (p *Pusher) Decided(key Key, uid types.UID, unrendered ...string) {
	p.roster.mu.Lock()
	if p.roster.decided == nil {
		p.roster.decided = make(map[Key]decision)
	}
	p.roster.decided[key] = decision{uid: uid, unrendered: unrendered}
	p.roster.mu.Unlock()
	p.accountAll(key)
}

// Orphans are the Deliveries on a member that no wrapper accounts for: how many, and the names of the
// first ones. known is false as long as not every wrapper, or not every Delivery there, is known.
func (p *Pusher) Orphans(memberName string, limit int) (count int, names []string, known bool) {
	l := p.lane(memberName)
	p.roster.mu.RLock()
	complete := p.roster.complete
	p.roster.mu.RUnlock()
	if l == nil || !complete {
		return 0, nil, false
	}
	l.mu.Lock()
	synced := l.synced
	l.mu.Unlock()
	if !synced {
		return 0, nil, false
	}
	l.orphans.mu.Lock()
	names = slices.Sorted(maps.Keys(l.orphans.names))
	l.orphans.mu.Unlock()
	return len(names), names[:min(limit, len(names))], true
}

// accountAll looks for whose a wrapper's Delivery is, on every member.
func (p *Pusher) accountAll(key Key) {
	for _, l := range p.allLanes() {
		p.account(l, key.Delivery())
	}
}

// account looks for whose a Delivery is, by what is known now.
func (p *Pusher) account(l *lane, name string) {
	l.orphans.accounting.Lock()
	changed := l.orphans.set(name, p.isOrphan(l, name))
	l.orphans.accounting.Unlock()
	if changed {
		p.tellOrphans(l)
	}
}

// set notes whether a Delivery is an orphan, and says whether that is news.
func (o *orphans) set(name string, is bool) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.names[name] == is:
		return false
	case !is:
		delete(o.names, name)
	case o.names == nil:
		o.names = map[string]bool{name: true}
	default:
		o.names[name] = true
	}
	return true
}

// isOrphan says whether no wrapper accounts for a Delivery: there is none of its name, or the one that there
// is is not wanted there: another one than it was written for, or one that the host restored to before its
// placement, or a person released from leaving the member.
func (p *Pusher) isOrphan(l *lane, name string) bool {
	l.mu.Lock()
	seen := l.seen[name]
	l.mu.Unlock()
	if seen == nil {
		return false
	}
	key := KeyOf(seen.Wrapper)
	p.roster.mu.RLock()
	uid, there := p.roster.wrappers[key]
	decided := p.roster.decided[key]
	p.roster.mu.RUnlock()
	switch {
	case !there, key.Delivery() != name: // nobody would ever read what is called by another name
		return true
	case decided.uid != uid, slices.Contains(decided.unrendered, l.conn.Name()):
		return false
	}
	want := p.want(key, l.conn.Name())
	return want == nil || want.Leaving() && uid != seen.Wrapper.UID
}

// tellOrphans says that a member's orphans are to be told anew, once they are known.
func (p *Pusher) tellOrphans(l *lane) {
	if _, _, known := p.Orphans(l.conn.Name(), 0); known && p.roster.told != nil {
		p.roster.told(l.conn.Name())
	}
}
