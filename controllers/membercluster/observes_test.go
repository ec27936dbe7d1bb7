// SPDX-License-Identifier: Apache-2.0

package membercluster

import (
	"testing"
	"time"

	"github.com/fairlead-dev/fairlead/internal/member"
)

func TestWhichCollectorObservesAMember(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		change   func(*member.ProbeResult)
		isHere   bool
		version  string // the manager's version
		observes bool
	}{
		"one inside the manager":                    {func(*member.ProbeResult) {}, true, "v2", true},
		"one elsewhere, of the manager's version":   {func(*member.ProbeResult) {}, false, "v1", true},
		"one elsewhere, of another version":         {func(*member.ProbeResult) {}, false, "v2", false},
		"one elsewhere, and no version is known":    {func(p *member.ProbeResult) { p.CollectorVersion = "" }, false, "", false},
		"one that never reported":                   {func(p *member.ProbeResult) { p.Heartbeat = time.Time{} }, true, "v1", false},
		"one that has stopped writing heartbeats":   {func(p *member.ProbeResult) { p.HeartbeatChanged = now.Add(-4 * time.Minute) }, true, "v1", false},
		"one that ended before the manager started": {func(p *member.ProbeResult) { p.Heartbeat = now.Add(-time.Hour) }, true, "v1", false},
		"one whose member's clock is behind": {func(p *member.ProbeResult) {
			p.Heartbeat, p.Ahead = now.Add(-time.Hour), -time.Hour
		}, true, "v1", true},
		"a collector whose token is refused":                  {func(p *member.ProbeResult) { p.CollectorRefused = true }, true, "v1", false},
		"a collector on a member that does not answer":        {func(p *member.ProbeResult) { p.Reachable = false }, true, "v1", false},
		"a collector on a cluster that is not the joined one": {func(p *member.ProbeResult) { p.Valid = false }, true, "v1", false},
	} {
		probe := member.ProbeResult{Probed: true, Reachable: true, Valid: true, CollectorVersion: "v1", Heartbeat: now, HeartbeatChanged: now.Add(-time.Minute)}
		test.change(&probe)
		if got := isObserved(probe, test.isHere, test.version, now); got != test.observes {
			t.Errorf("%s: observed %v", name, got)
		}
	}
}
