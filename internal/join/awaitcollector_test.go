// SPDX-License-Identifier: Apache-2.0

package join

import (
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/join/steps"
)

func TestAManagerThatDoesNotReachTheMemberEndsTheWait(t *testing.T) {
	lost := &metav1.Condition{Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonUnreachable, Message: "no route"}
	slow := &metav1.Condition{Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonTimeout, Message: "no answer"}
	reached := &metav1.Condition{Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonNoHeartbeat}
	for name, tc := range map[string]struct {
		// seen has the condition Ready as the join reads it, every ten seconds.
		seen      []*metav1.Condition
		wantNotes int
		wantEnd   bool
	}{
		"it reaches the member":       {seen: []*metav1.Condition{nil, reached, reached, reached, reached, reached}},
		"it never does":               {seen: []*metav1.Condition{nil, lost, lost, lost, lost, lost}, wantNotes: 1, wantEnd: true},
		"each probe fails otherwise":  {seen: []*metav1.Condition{nil, lost, slow, lost, slow, slow}, wantNotes: 1, wantEnd: true},
		"it does after half a minute": {seen: []*metav1.Condition{lost, lost, lost, reached, reached, reached, reached}, wantNotes: 1},
		"it loses the member again":   {seen: []*metav1.Condition{lost, lost, reached, lost, lost, lost}, wantNotes: 2},
	} {
		t.Run(name, func(t *testing.T) {
			now, notes := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), 0
			recorder := steps.NewRecorder(func(s steps.Step) {
				if notes++; !strings.Contains(s.What, "does not reach member east at https://10.0.0.7:6443: Unreachable: no route") {
					t.Errorf("noted: %s", s.What)
				}
			})
			r, err := &hostReach{member: "member east", endpoint: "https://10.0.0.7:6443", steps: recorder, now: func() time.Time { return now }, patience: patience}, error(nil)
			for _, ready := range tc.seen {
				if err = r.look(ready); err != nil {
					break
				}
				now = now.Add(10 * time.Second)
			}
			if errors.Is(err, errHopeless) != tc.wantEnd || notes != tc.wantNotes {
				t.Errorf("got %v and %d notes", err, notes)
			}
		})
	}
}
