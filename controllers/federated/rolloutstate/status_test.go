// SPDX-License-Identifier: Apache-2.0

package rolloutstate

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-dev/fairlead/federate/rollout"
)

func TestWhatAStatusStoresIsTheStateOfTheRollout(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, state := range map[string]rollout.State{
		"none yet": {},
		"under way": {ID: "a", Revision: "r2", Phase: rollout.Progressing, Wave: "canary", Begun: true, Since: at, Plan: "p", LastGood: "r1",
			Retried: at.Add(time.Minute), RetrySeen: at.Add(time.Second)},
		"failed": {ID: "a", Revision: "r2", Phase: rollout.Paused, Wave: "canary", Since: at, Plan: "p", Failure: &rollout.Failure{
			Revision: "r2", Wave: "canary", Member: "east", Reason: "Invalid", Message: "ConfigMap web: no", Count: 2, At: at, NoGoodRevision: true}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(state, Of(StatusOf(&rollout.Decision{State: state}, &state))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheMessageOfAFailureIsRedactedAndCutOnce(t *testing.T) {
	failure := func() *rollout.Failure {
		return &rollout.Failure{Revision: "r2", Member: "east", Message: "Deployment web: password=hunter22 " + strings.Repeat("long ", 100)}
	}
	found := &rollout.Decision{State: rollout.State{Failure: failure()}}
	if got := StatusOf(found, &rollout.State{}).Failure.Message; strings.Contains(got, "hunter22") || len(got) > maxFailureMessage || !strings.HasPrefix(got, "Deployment web: ") {
		t.Errorf("the message of a new failure is %q", got)
	}
	known := rollout.State{Failure: failure()}
	if got := StatusOf(&rollout.Decision{State: known}, &known).Failure.Message; got != failure().Message {
		t.Errorf("the message of an earlier failure has changed to %q", got)
	}
}
