// SPDX-License-Identifier: Apache-2.0

package rolloutstate

import (
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
			if diff := cmp.Diff(state, Of(StatusOf(&rollout.Decision{State: state}))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
