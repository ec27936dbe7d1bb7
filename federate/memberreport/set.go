// SPDX-License-Identifier: Apache-2.0

package memberreport

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

const (
	// maxReports is the greatest number of reports of one wrapper.
	maxReports = 10
	// maxSamples is the greatest number of samples that a Set keeps. It is more than maxReports, so that a report that goes away
	// makes room for another.
	maxSamples = 2 * maxReports
	// aloneSamples is how many samples may be of keys that the same single member shows, while others compete for the places.
	aloneSamples = 5
	// memberWeight is the number of bytes that a member with one key takes in memory, by estimate.
	memberWeight = 400
	// sampleWeight is the number of bytes that a sample takes in memory without its evidence, by estimate.
	sampleWeight = 512
)

// Account bounds the memory of all Sets. Every byte is counted for one member.
type Account interface {
	// Take counts this many bytes for a member. It returns false, and counts nothing, if the bounds do not allow that.
	Take(member string, bytes int) bool
	// Add counts this many bytes for a member without regard to the bounds. A negative number gives bytes back.
	Add(member string, bytes int)
}

// Set is what members show of one wrapper. It is not safe for concurrent use.
type Set struct {
	account Account
	// weigh returns the number of bytes that evidence takes in memory, by estimate.
	weigh  func(*v1alpha1.Evidence) int
	groups map[Key]*group
	// samples has the samples that the Set keeps, at most maxSamples.
	samples map[Key]*sample
	// shown has the keys of each member.
	shown map[string][]Key
}

// group is one key, with the members that show it.
type group struct {
	object  v1alpha1.ReportedObject
	reason  string
	members map[string]bool
}

// sample is the evidence of one member.
type sample struct {
	member, message string
	// observed is when the manager received the evidence.
	observed time.Time
	evidence v1alpha1.Evidence
	weight   int
}

// NewSet makes the Set of one wrapper. weigh returns the number of bytes that evidence takes in memory.
func NewSet(account Account, weigh func(*v1alpha1.Evidence) int) *Set {
	return &Set{account: account, weigh: weigh,
		groups: make(map[Key]*group), samples: make(map[Key]*sample), shown: make(map[string][]Key)}
}

// Members returns the members that show anything, sorted.
func (s *Set) Members() []string { return slices.Sorted(maps.Keys(s.shown)) }

// Shows reports whether a member shows anything.
func (s *Set) Shows(member string) bool { return len(s.shown[member]) > 0 }

// Show records everything that a member shows now; what it showed before and shows no more is gone. changed is true if the reports
// may be others than before. refused is the number of samples and members that the account did not allow.
func (s *Set) Show(member string, all []Shown, now time.Time) (changed bool, refused int) {
	for _, old := range slices.Clone(s.shown[member]) {
		if !slices.ContainsFunc(all, func(is Shown) bool { return is.Key == old }) {
			s.leave(member, old)
			changed = true
		}
	}
	for i := range all {
		key := all[i].Key
		joined, ok := s.join(member, key, &all[i])
		if !ok {
			refused++
			continue
		}
		sampled, ok := s.sample(key, &sample{member: member, message: all[i].Message, observed: now, evidence: all[i].Evidence})
		if !ok {
			refused++
		}
		changed = changed || joined || sampled
	}
	return changed, refused
}

// Leave records that a member shows nothing. It returns true if the member showed something before.
func (s *Set) Leave(member string) bool {
	changed, _ := s.Show(member, nil, time.Time{})
	return changed
}

// Restore records a report that an earlier process of the manager wrote. Of its members only those count for which isUnread
// returns true: this process has not read their Deliveries yet, so it cannot know that they show the same no more.
func (s *Set) Restore(key Key, status *v1alpha1.MemberReportStatus, isUnread func(member string) bool) {
	for _, member := range status.Clusters {
		if !isUnread(member) || slices.Contains(s.shown[member], key) {
			continue
		}
		s.account.Add(member, memberWeight)
		s.add(member, key, status.Object, status.Reason)
	}
	if s.groups[key] == nil || s.samples[key] != nil || status.Cluster == "" {
		return
	}
	restored := &sample{member: status.Cluster, message: status.Message, observed: status.ObservedTime.Time, evidence: status.Evidence}
	restored.weight = sampleWeight + len(restored.message) + s.weigh(&restored.evidence)
	s.account.Add(restored.member, restored.weight)
	s.samples[key] = restored
	s.dropSamples()
}

// Close gives all memory back to the account.
func (s *Set) Close() {
	for _, member := range s.Members() {
		s.Leave(member)
	}
}

// join adds a member to a key. ok is false if the account does not allow that.
func (s *Set) join(member string, key Key, shown *Shown) (joined, ok bool) {
	if slices.Contains(s.shown[member], key) {
		return false, true
	}
	if !s.account.Take(member, memberWeight) {
		return false, false
	}
	s.add(member, key, shown.Object, shown.Reason)
	return true, true
}

func (s *Set) add(member string, key Key, object v1alpha1.ReportedObject, reason string) {
	g := s.groups[key]
	if g == nil {
		g = &group{object: object, reason: reason, members: make(map[string]bool)}
		s.groups[key] = g
	}
	g.members[member] = true
	s.shown[member] = append(s.shown[member], key)
}

func (s *Set) leave(member string, key Key) {
	s.account.Add(member, -memberWeight)
	s.shown[member] = slices.DeleteFunc(s.shown[member], func(k Key) bool { return k == key })
	if len(s.shown[member]) == 0 {
		delete(s.shown, member)
	}
	g := s.groups[key]
	delete(g.members, member)
	if len(g.members) == 0 {
		s.drop(key)
		delete(s.groups, key)
	}
}

// sample makes new the sample of a key if the key has none, if the member of the present sample shows the same no more, or if the
// present sample is of the same member. ok is false if the account does not allow the sample; the present one then stays.
func (s *Set) sample(key Key, is *sample) (changed, ok bool) {
	was := s.samples[key]
	switch {
	case was == nil && !s.isImportant(key):
		return false, true
	case was == nil:
	case was.member != is.member && s.groups[key].members[was.member]:
		return false, true
	case was.member == is.member && was.message == is.message && equality.Semantic.DeepEqual(was.evidence, is.evidence):
		return false, true
	}
	is.weight = sampleWeight + len(is.message) + s.weigh(&is.evidence)
	held := 0
	if was != nil && was.member == is.member {
		held = was.weight
	}
	if more := is.weight - held; more <= 0 {
		s.account.Add(is.member, more)
	} else if !s.account.Take(is.member, more) {
		return false, false
	}
	if was != nil && was.member != is.member {
		s.drop(key)
	}
	s.samples[key] = is
	s.dropSamples()
	return true, true
}

// drop drops the sample of a key.
func (s *Set) drop(key Key) {
	if is := s.samples[key]; is != nil {
		s.account.Add(is.member, -is.weight)
		delete(s.samples, key)
	}
}

// isImportant reports whether the Set keeps a sample of a key that has none.
func (s *Set) isImportant(key Key) bool {
	sampled := s.sampled()
	if len(sampled) < maxSamples {
		return true
	}
	sampled = append(sampled, key)
	slices.SortFunc(sampled, s.compare)
	return slices.Contains(s.choose(sampled, maxSamples, aloneSamples), key)
}

// dropSamples drops the least important samples, until maxSamples are left.
func (s *Set) dropSamples() {
	sampled := s.sampled()
	kept := s.choose(sampled, maxSamples, aloneSamples)
	for _, key := range sampled {
		if !slices.Contains(kept, key) {
			s.drop(key)
		}
	}
}

// sampled returns the keys that have a sample, the most important first.
func (s *Set) sampled() []Key {
	return slices.SortedFunc(maps.Keys(s.samples), s.compare)
}

// compare orders keys by the number of their members, and then by the key. The order of two keys does not depend on other keys.
func (s *Set) compare(a, b Key) int {
	return cmp.Or(len(s.groups[b].members)-len(s.groups[a].members), cmp.Compare(a, b))
}
