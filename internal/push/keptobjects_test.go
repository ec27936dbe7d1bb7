// SPDX-License-Identifier: Apache-2.0

package push

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-dev/fairlead/internal/push/plan"
)

// Two passes keep one object each. The event recorder would merge two events in quick succession into the first, so
// both objects have to be reported in one event, after the last pass.
func TestTakeKeptWaitsUntilThePassesOfThePairAreDone(t *testing.T) {
	b := newBench(t)
	leave := &Desired{Wrapper: webID}
	b.pusher.SetDesired("east", leave)
	class, claim := Kept{Object: "StorageClass fast", Why: "it holds data"}, Kept{Object: "PersistentVolumeClaim data", Why: "it holds data"}
	b.pusher.kept.note(t.Context(), web, "east", []Kept{class})
	b.finished(web, plan.Outcome{Desired: leave}, plan.Work{})
	if taken := b.pusher.TakeKept(web); len(taken) > 0 {
		t.Fatalf("returned while the wrapper still leaves the member: %v", taken)
	}
	b.pusher.kept.note(t.Context(), web, "east", []Kept{class, claim})
	b.finished(web, plan.Outcome{Desired: leave, Done: true}, plan.Work{})
	if diff := cmp.Diff(map[string][]Kept{"east": {class, claim}}, b.pusher.TakeKept(web)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	b.pusher.SetDesired("east", &Desired{Wrapper: webID, Revision: "r3"})
	b.pusher.kept.note(t.Context(), web, "east", []Kept{class})
	b.pusher.RemoveDesired(web, "east") // a person has released the wrapper from the member
	if taken := b.pusher.TakeKept(web); len(taken["east"]) != 1 {
		t.Errorf("the object that was kept before the release is missing: %v", taken)
	}
}
