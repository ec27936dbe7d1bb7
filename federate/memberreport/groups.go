// SPDX-License-Identifier: Apache-2.0

package memberreport

import (
	"cmp"
	"slices"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// memberWeight is the number of bytes that a member with one key takes in memory, by estimate.
const memberWeight = 400

// group is one key, with the members that show it.
type group struct {
	object  v1alpha1.ReportedObject
	reason  string
	members map[string]bool
}

// groups are the keys that members show, and the members that show them. The account counts each member of each key.
type groups struct {
	account Account
	byKey   map[Key]*group
	// shown has the keys of each member.
	shown map[string][]Key
}

func newGroups(account Account) groups {
	return groups{account: account, byKey: make(map[Key]*group), shown: make(map[string][]Key)}
}

// has reports whether a member shows a key.
func (g *groups) has(member string, key Key) bool { return slices.Contains(g.shown[member], key) }

// join adds a member to a key. ok is false if the account does not allow that.
func (g *groups) join(member string, shown *Shown) (joined, ok bool) {
	if g.has(member, shown.Key) {
		return false, true
	}
	if !g.account.Take(member, memberWeight) {
		return false, false
	}
	g.add(member, shown.Key, shown.Object, shown.Reason)
	return true, true
}

// restore adds a member to a key without regard to the bounds of the account.
func (g *groups) restore(member string, key Key, object v1alpha1.ReportedObject, reason string) {
	g.account.Add(member, memberWeight)
	g.add(member, key, object, reason)
}

func (g *groups) add(member string, key Key, object v1alpha1.ReportedObject, reason string) {
	is := g.byKey[key]
	if is == nil {
		is = &group{object: object, reason: reason, members: make(map[string]bool)}
		g.byKey[key] = is
	}
	is.members[member] = true
	g.shown[member] = append(g.shown[member], key)
}

// leave removes a member from a key. It returns true if no member shows the key any more; the key is then gone.
func (g *groups) leave(member string, key Key) (gone bool) {
	g.account.Add(member, -memberWeight)
	g.shown[member] = slices.DeleteFunc(g.shown[member], func(k Key) bool { return k == key })
	if len(g.shown[member]) == 0 {
		delete(g.shown, member)
	}
	is := g.byKey[key]
	delete(is.members, member)
	if len(is.members) > 0 {
		return false
	}
	delete(g.byKey, key)
	return true
}

// compare orders keys by the number of their members, and then by the key. The order of two keys does not depend on other keys.
func (g *groups) compare(a, b Key) int {
	return cmp.Or(len(g.byKey[b].members)-len(g.byKey[a].members), cmp.Compare(a, b))
}

// choose returns the most important keys, in the order of the argument keys: as many as the argument places says. If only one member shows a
// key, the key counts for that member. Each member first gets the number of such keys that the argument share says, and further ones only if
// places are left.
func (g *groups) choose(keys []Key, places, share int) []Key {
	if len(keys) <= places {
		return keys
	}
	alone := make(map[string]int)
	var first, more []Key
	for _, key := range keys {
		if takesShare(g.byKey[key].members, alone, share) {
			first = append(first, key)
		} else {
			more = append(more, key)
		}
	}
	all := slices.Concat(first, more)[:places]
	return slices.DeleteFunc(slices.Clone(keys), func(key Key) bool { return !slices.Contains(all, key) })
}

// takesShare reports whether choose prefers a key with these members: several members show it, or its only member has not used up its
// share. alone counts, by member, the keys so far that only this member shows.
func takesShare(members map[string]bool, alone map[string]int, share int) bool {
	if len(members) != 1 {
		return true
	}
	for member := range members {
		alone[member]++
		return alone[member] <= share
	}
	return true
}
