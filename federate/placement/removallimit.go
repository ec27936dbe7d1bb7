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
	// window is the period that maxRemoval is for.
	window = time.Hour
	// DefaultMaxRemoval is the default of spec.rollout.maxRemoval.
	DefaultMaxRemoval = "30%"
)

// limitedRemovals is the result of the removal limit.
type limitedRemovals struct {
	// going are the members whose removal begins now, withheld those that wait; both sorted.
	going, withheld []string
	// decision identifies the removal that waits; "" if none waits.
	decision string
	// removals are the removals of the last hour, including those that begin now.
	removals []v1alpha1.Removals
	// limit is the number of removals that may begin within the hour, placed the number of members that it is computed
	// from.
	limit, placed int
	// again is when the oldest of the removals is an hour old, so that another may begin.
	again time.Time
}

// limitRemovals decides which members that were placed and are no longer selected may go now. known are all members by
// name, true when selected. Approved removals begin first. Further removals begin in the order of the members' names,
// until the limit of the hour is reached. Approved removals count towards the limit. An invalid maxRemoval is an error.
//
// The limit is a share of the members that were placed when the oldest removal of the last hour began. Without such a
// removal it is a share of the members placed now. Members that are placed during the hour do not raise the limit.
// Otherwise moving a wrapper from one half of the fleet to the other would raise its own limit. A member whose
// MemberCluster is gone is not removed, and does not count.
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

// standingDecision is the decision of the previous pass, if the spec is the same and all unselected members are in it.
// After an edit of the spec, the removal may have another effect. A further member makes another removal, which needs
// an Approval of its own.
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

// decisionOf identifies a removal. The time is part of it because labels change without another generation: a removal
// that was called off and begins again is another removal.
func decisionOf(withheld []string, generation int64, now time.Time) string {
	sum := digest.Of([]byte(strings.Join(withheld, ",")), []byte(strconv.FormatInt(generation, 10)),
		[]byte(now.UTC().Format(time.RFC3339Nano)))
	return strings.TrimPrefix(sum, "sha256:")[:16]
}

// limitOf is the number of removals that may begin within an hour: a share of the placed members, rounded down, but at
// least one. With 100% there is no limit: a member that was left and placed again may be left once more.
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

// recent are the removals that began within the window. If the clock was set back, a removal may seem to begin later
// than now. It then begins now: it must not count for longer than an hour.
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

// begin adds count removals that begin now. Removals of one minute share an entry, with the time of the last, so that
// an hour has few entries. They count for up to a minute longer, and never allow more removals.
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

// wholeSecond rounds up to whole seconds, which a metav1.Time can hold. So an hour is never too short.
func wholeSecond(t time.Time) metav1.Time {
	whole := t.UTC().Truncate(time.Second)
	if whole.Before(t) {
		whole = whole.Add(time.Second)
	}
	return metav1.NewTime(whole)
}
