// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/digest"
)

const (
	// window is the length of the period for which maxRemoval limits the removals. The period may begin at any time.
	window = time.Hour
	// DefaultMaxRemoval is the value of spec.rollout.maxRemoval if the field is absent.
	DefaultMaxRemoval = "30%"
)

// limitedRemovals is the result of limitRemovals.
type limitedRemovals struct {
	// going are the members whose removal begins now, sorted by name.
	// withheld are the members whose removal waits, sorted by name.
	going, withheld []string
	// decision is the value for status.placement.decision, which identifies the removals that wait; "" if none waits.
	decision string
	// removals are the removals of the last hour, including those that begin now.
	removals []v1alpha1.Removals
	// limit is the number of removals that may begin within the hour.
	// placed is the number of members from which limit was computed.
	limit, placed int
	// again is the time at which the oldest removal becomes an hour old, so that further removals may begin; zero if no
	// removal waits.
	again time.Time
}

// limitRemovals decides which removals may begin now, among the members that were placed and are not selected now. The
// parameter known has all members by name, with true for the selected ones. Approved removals begin first, and count
// towards the limit. Then further removals begin in the order of the members' names, until the limit of the hour is
// reached. An invalid maxRemoval is an error.
//
// The limit is a share of the members that were placed when the oldest removal of the last hour began. If no removal
// began in the last hour, it is a share of the members that are placed now. Members that are placed during the hour do
// not raise the limit: an author who moves a wrapper from one half of the fleet to the other must not raise the limit
// by that move. A member without a MemberCluster is not removed, and does not count as placed.
func (in *Input) limitRemovals(known map[string]bool, now time.Time) (limitedRemovals, error) {
	var placed int
	var unselected []string
	for _, name := range in.Previous.Clusters {
		if selected, exists := known[name]; exists {
			placed++
			if !selected {
				unselected = append(unselected, name)
			}
		}
	}
	unselected = sorted(unselected)
	p := limitedRemovals{removals: recent(in.Previous.Removals, now), placed: placed}
	begun := 0
	for _, r := range p.removals {
		begun += int(r.Count)
	}
	if begun > 0 {
		p.placed = int(p.removals[0].Placed)
	}
	var err error
	if p.limit, err = limitOf(in.MaxRemoval, p.placed); err != nil {
		return limitedRemovals{}, err
	}

	standing := in.standingDecision(unselected)
	approved := approvedRemovals(in, standing)
	room := p.limit - begun
	for _, name := range unselected {
		if approved[name] {
			p.going = append(p.going, name)
			room--
		}
	}
	for _, name := range unselected {
		switch {
		case approved[name]:
		case room > 0:
			p.going = append(p.going, name)
			room--
		default:
			p.withheld = append(p.withheld, name)
		}
	}
	p.going = sorted(p.going)
	p.removals = begin(p.removals, len(p.going), placed, now)
	if len(p.withheld) > 0 {
		p.decision = standing
		if standing == "" {
			p.decision = decisionOf(p.withheld, in.Wrapper.Generation, now)
		}
		p.again = p.removals[0].Since.Add(window)
	}
	return p, nil
}

// standingDecision returns the id of the previous decision if Approvals of it are still valid: the spec is the same,
// and the decision withholds all members that are not selected now. In all other cases it returns "", and the removals
// get a new id. An Approval of the earlier id then has no effect, because the person who gave it saw an earlier spec, or
// not all of the removals.
func (in *Input) standingDecision(unselected []string) string {
	if in.Previous.ObservedGeneration != in.Wrapper.Generation {
		return ""
	}
	for _, name := range unselected {
		if !slices.Contains(in.Previous.Withheld, name) {
			return ""
		}
	}
	return in.Previous.Decision
}

// decisionOf makes the id of the removals that wait. A change of labels can cancel removals and start them again
// without a new generation. So the id also depends on the time, and an Approval of the first removals does not count
// for the second.
func decisionOf(withheld []string, generation int64, now time.Time) string {
	sum := digest.Of([]byte(strings.Join(withheld, ",")), []byte(strconv.FormatInt(generation, 10)),
		[]byte(now.UTC().Format(time.RFC3339Nano)))
	return strings.TrimPrefix(sum, "sha256:")[:16]
}

// limitOf returns how many removals may begin within an hour: a share of the placed members, rounded down, and at least
// one. With 100% there is no limit, and the result is a number that is never reached. The number of placed members would
// be too small a limit, because a wrapper may leave a member twice within the hour.
func limitOf(maxRemoval *intstr.IntOrString, placed int) (int, error) {
	if maxRemoval == nil {
		maxRemoval = new(intstr.FromString(DefaultMaxRemoval))
	}
	limit, err := intstr.GetScaledValueFromIntOrPercent(maxRemoval, placed, false)
	if err != nil {
		return 0, fmt.Errorf("placing: spec.rollout.maxRemoval: %w", err)
	}
	if maxRemoval.Type == intstr.String && maxRemoval.StrVal == "100%" {
		return math.MaxInt32, nil
	}
	return max(1, limit), nil
}

// recent returns the removals of the last hour. A removal lies in the future if the clock was set back. The function
// recent then sets the time of the removal to now, so that it does not count for longer than an hour.
func recent(removals []v1alpha1.Removals, now time.Time) []v1alpha1.Removals {
	var kept []v1alpha1.Removals
	latest := wholeSecond(now)
	for _, r := range removals {
		if r.Since.After(latest.Time) {
			r.Since = latest
		}
		if now.Before(r.Since.Add(window)) {
			kept = append(kept, r)
		}
	}
	return kept
}

// begin adds removals that begin now. The parameter count is their number. Removals of the same minute share one entry,
// which keeps the list short. The entry has the time of its last removal, so its earlier removals count for up to a
// minute too long. That is safe.
func begin(removals []v1alpha1.Removals, count, placed int, now time.Time) []v1alpha1.Removals {
	if count == 0 {
		return removals
	}
	since := wholeSecond(now)
	if n := len(removals); n > 0 && removals[n-1].Since.Truncate(time.Minute).Equal(since.Truncate(time.Minute)) {
		removals[n-1].Since = since
		removals[n-1].Placed = min(removals[n-1].Placed, int32(placed)+removals[n-1].Count) //nolint:gosec // at most 5,000 members are placed
		removals[n-1].Count += int32(count)                                                 //nolint:gosec // as above
		return removals
	}
	return append(removals, v1alpha1.Removals{Since: since, Count: int32(count), Placed: int32(placed)}) //nolint:gosec // as above
}

// wholeSecond rounds a time up to whole seconds, because a metav1.Time has no fractions. Rounding down would make the
// hour too short.
func wholeSecond(t time.Time) metav1.Time {
	whole := t.UTC().Truncate(time.Second)
	if whole.Before(t) {
		whole = whole.Add(time.Second)
	}
	return metav1.NewTime(whole)
}
