// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Some of these conditions keep two leaders from writing at the same time. The others keep the leader from losing its
// lease too easily, and bound the time without a leader.
func TestTheFenceFallsBeforeAnotherManagerBegins(t *testing.T) {
	d := Default()
	for condition, holds := range map[string]bool{
		"the last canceled write has time to end before another manager begins":  d.Slack() >= 2*time.Second,
		"a write has time for its answer after the last moment to begin":         d.Cancel-d.Begin >= 2*time.Second,
		"one renewal may get no answer and the next still comes in time":         d.Renew+d.Retry+d.Request < d.Begin,
		"the process ends before another manager begins":                         slower(d.Renew+d.Retry+d.GiveUp) < faster(d.Duration),
		"all writes have ended before the process gives the lease back":          d.Renew+d.GiveUp > d.Cancel,
		"the pause after a lease is taken back ends long before it would expire": d.HoldOff < d.Duration/2,
		"another manager begins within 20 s of a crash, with a start of 2 s":     2*time.Second+d.Duration+d.Retry*22/10 < 20*time.Second,
	} {
		if !holds {
			t.Errorf("%+v: not so: %s", d, condition)
		}
	}
	if want := 15*time.Second*100/101 - 12*time.Second - 120*time.Millisecond; d.Slack() != want {
		t.Errorf("design.md names the slack as %s, it is %s", want, d.Slack())
	}
}

func TestJudge(t *testing.T) {
	at := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	after := at.Add
	for name, test := range map[string]struct {
		tenure Tenure
		now    time.Time
		want   Verdict
	}{
		"without a lease": {Tenure{}, at, Verdict{}},
		"just renewed":    {Tenure{Renewed: at}, at, Verdict{Held: true, MayBegin: true, Left: 12 * time.Second}},
		"at the last moment to begin a write": {Tenure{Renewed: at}, after(10*time.Second - 1),
			Verdict{Held: true, Age: 10*time.Second - 1, MayBegin: true, Left: 2*time.Second + 1}},
		"when no write may begin":     {Tenure{Renewed: at}, after(10 * time.Second), Verdict{Held: true, Age: 10 * time.Second, Left: 2 * time.Second}},
		"when the last write ends":    {Tenure{Renewed: at}, after(12 * time.Second), Verdict{Held: true, Age: 12 * time.Second}},
		"after a machine has slept":   {Tenure{Renewed: at}, after(time.Hour), Verdict{Held: true, Age: time.Hour}},
		"just taken back":             {Tenure{Renewed: at, TakenBack: at}, at, Verdict{Held: true, MayBegin: true, Wait: 5 * time.Second, Left: 12 * time.Second}},
		"during the pause":            {Tenure{Renewed: at, TakenBack: at}, after(2 * time.Second), Verdict{Held: true, Age: 2 * time.Second, MayBegin: true, Wait: 3 * time.Second, Left: 10 * time.Second}},
		"after the pause":             {Tenure{Renewed: at, TakenBack: at}, after(5 * time.Second), Verdict{Held: true, Age: 5 * time.Second, MayBegin: true, Left: 7 * time.Second}},
		"with a clock that went back": {Tenure{Renewed: at, TakenBack: at}, after(-time.Hour), Verdict{Held: true, Age: -time.Hour, MayBegin: true, Wait: 5 * time.Second, Left: time.Hour + 12*time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, Default().Judge(test.tenure, test.now)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// elapsed takes the longer of two times, by the monotonic clock and by the wall clock. So the test needs a time with both
// readings, as time.Now returns it.
func TestAWallClockThatIsSetDoesNotMoveTheFenceBack(t *testing.T) {
	renewed := time.Now()
	now := renewed.Add(11 * time.Second) // moves both readings
	back := time.Unix(0, now.Add(-time.Hour).UnixNano())
	if v := Default().Judge(Tenure{Renewed: renewed}, now); v.MayBegin {
		t.Errorf("%+v", v)
	}
	// The variable back has no monotonic reading, so only the wall clock counts.
	if age := elapsed(renewed, back); age > 0 {
		t.Errorf("%s", age)
	}
	if age := elapsed(renewed, renewed.Round(0).Add(time.Hour)); age < time.Hour {
		t.Errorf("a sleep of an hour counts as %s", age)
	}
}

// Two managers act at random times, with clocks as wrong as the fence tolerates. The leader freezes, and some renewals get
// no answer. Once the other manager can take the lease, the old leader must begin no write, and must have canceled all
// earlier writes.
func TestNoWriteOfTheOldLeaderReachesAMemberAfterTheNewLeaderBegan(t *testing.T) {
	d := Default()
	random := rand.New(rand.NewPCG(1, 2))
	rate := func() float64 { return 1 + (2*random.Float64()-1)/maxClockError }
	for range 100_000 {
		leader, standby := rate(), rate() // the rate of each machine's clock
		// Real times in seconds, from the beginning of the last renewal that is accepted.
		arrives := random.Float64() * d.Request.Seconds()
		seen := arrives + random.Float64()*5
		takes := seen + d.Duration.Seconds()/standby
		tenure := Tenure{Renewed: time.Unix(0, 0)}
		for range 20 {
			moment := random.Float64() * 40
			v := d.Judge(tenure, time.Unix(0, int64(moment*leader*1e9)))
			if moment >= takes-2 && (v.MayBegin || v.Left > 0) {
				t.Fatalf("%.3f s after the renewal the old leader may still write (%+v), and another may begin at %.3f s", moment, v, takes)
			}
		}
	}
}
