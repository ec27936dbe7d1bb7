// SPDX-License-Identifier: Apache-2.0

package memberreport

import (
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// sampleWeight is the number of bytes that a sample takes in memory without its evidence, by estimate.
const sampleWeight = 512

// sample is the evidence of one member.
type sample struct {
	member, message string
	// observed is when the manager received the evidence.
	observed time.Time
	evidence v1alpha1.Evidence
	weight   int
}

// isSame reports whether two samples have the same content. The times at which the manager received them may differ.
func (is *sample) isSame(as *sample) bool {
	return is.member == as.member && is.message == as.message && equality.Semantic.DeepEqual(as.evidence, is.evidence)
}

// samples are the samples that a Set keeps. The account counts the memory of each sample for the member from which it comes.
type samples struct {
	account Account
	// weigh returns the number of bytes that evidence takes in memory, by estimate.
	weigh func(*v1alpha1.Evidence) int
	byKey map[Key]*sample
}

// replace stores a sample for a key, in place of the present one. It returns false if the account does not allow that; the present
// sample then stays.
func (s *samples) replace(key Key, is *sample) bool {
	was := s.byKey[key]
	is.weight = s.weightOf(is)
	held := 0
	if was != nil && was.member == is.member {
		held = was.weight
	}
	if more := is.weight - held; more <= 0 {
		s.account.Add(is.member, more)
	} else if !s.account.Take(is.member, more) {
		return false
	}
	if was != nil && was.member != is.member {
		s.drop(key)
	}
	s.byKey[key] = is
	return true
}

// restore stores a sample for a key that has none, without regard to the bounds of the account.
func (s *samples) restore(key Key, is *sample) {
	is.weight = s.weightOf(is)
	s.account.Add(is.member, is.weight)
	s.byKey[key] = is
}

// drop drops the sample of a key.
func (s *samples) drop(key Key) {
	if is := s.byKey[key]; is != nil {
		s.account.Add(is.member, -is.weight)
		delete(s.byKey, key)
	}
}

func (s *samples) weightOf(is *sample) int {
	return sampleWeight + len(is.message) + s.weigh(&is.evidence)
}
