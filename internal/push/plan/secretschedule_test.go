// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/internal/deliveries"
)

var (
	midnight = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	noPlace  = Pair{}
)

func pairNo(i int) Pair {
	return Pair{fmt.Sprint("member-", i%100), deliveries.Key{NamespacedName: types.NamespacedName{Namespace: "n", Name: fmt.Sprint(i)}}}
}

// walk takes every turn of the schedule from one time until another. It returns the times of each pair's turns, and the
// largest number of turns in one second.
func walk(r *SecretSchedule, from, until time.Time) (checks map[Pair][]time.Duration, perSecond int) {
	checks = make(map[Pair][]time.Duration)
	inSecond := make(map[int64]int)
	for now := from; now.Before(until); {
		t, wait, ok := r.Next(now)
		if !ok {
			if wait == 0 {
				return checks, 0
			}
			now = now.Add(wait)
			continue
		}
		r.Taken(now)
		checks[t.Pair] = append(checks[t.Pair], now.Sub(from))
		inSecond[now.Unix()]++
		perSecond = max(perSecond, inSecond[now.Unix()])
	}
	return checks, perSecond
}

func TestTheScheduleSpreadsTheChecksOverTheInterval(t *testing.T) {
	var r SecretSchedule
	for i := range 600 {
		r.Enlist(pairNo(i), []string{"s"}, midnight)
	}
	checks, perSecond := walk(&r, midnight, midnight.Add(3*resyncInterval))
	inMinute := make([]int, 10)
	for i := range 600 {
		turns := checks[pairNo(i)]
		if len(turns) != 3 {
			t.Fatalf("the turns of Secret %d: %v", i, turns)
		}
		if apart := turns[2] - turns[1]; apart < resyncInterval || apart > resyncInterval+time.Second {
			t.Fatalf("the turns of Secret %d are %s apart", i, apart)
		}
		inMinute[turns[0]/time.Minute]++
	}
	for minute, n := range inMinute {
		if n < 30 || n > 90 {
			t.Errorf("%d of 600 turns are in minute %d", n, minute)
		}
	}
	if perSecond > 10 {
		t.Errorf("%d in one second", perSecond)
	}
}

func TestTheScheduleOfTooManySecretsIsTenChecksASecondInTurn(t *testing.T) {
	const many = 10_000 // 6,000 fit into one resyncInterval, at ten a second
	var r SecretSchedule
	for i := range many {
		r.Enlist(pairNo(i), []string{"s"}, midnight)
	}
	checks, perSecond := walk(&r, midnight, midnight.Add(time.Hour))
	if perSecond != 10 {
		t.Errorf("%d in one second", perSecond)
	}
	total := 0
	for i := range many {
		turns := checks[pairNo(i)]
		total += len(turns)
		if len(turns) < 2 || len(turns) > 4 {
			t.Fatalf("Secret %d had %d turns: the Secret with the longest wait must come first", i, len(turns))
		}
	}
	if total < 35_000 || total > 36_000 {
		t.Errorf("%d checks in an hour", total)
	}
}

func TestWhichSecretsAreScheduled(t *testing.T) {
	one, two := pairNo(1), pairNo(2)
	for name, test := range map[string]struct {
		play func(*SecretSchedule)
		want map[Pair]int
	}{
		"none":                  {func(*SecretSchedule) {}, map[Pair]int{}},
		"two Secrets of a pair": {func(r *SecretSchedule) { r.Enlist(one, []string{"a", "b"}, midnight) }, map[Pair]int{one: 2}},
		"the same Secret twice": {func(r *SecretSchedule) {
			r.Enlist(one, []string{"a"}, midnight)
			r.Enlist(one, []string{"a"}, midnight)
		}, map[Pair]int{one: 1}},
		"a Secret that is no longer listed": {func(r *SecretSchedule) {
			r.Enlist(one, []string{"a", "b"}, midnight)
			r.Enlist(one, []string{"b"}, midnight)
		}, map[Pair]int{one: 1}},
		"a pair that has ended": {func(r *SecretSchedule) {
			r.Enlist(one, []string{"a"}, midnight)
			r.Enlist(two, []string{"a"}, midnight)
			r.Enlist(one, nil, midnight)
		}, map[Pair]int{two: 1}},
		"a member that has left": {func(r *SecretSchedule) {
			r.Enlist(one, []string{"a"}, midnight)
			r.Enlist(two, []string{"a"}, midnight)
			r.Leave(one.Member)
		}, map[Pair]int{two: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			var r SecretSchedule
			test.play(&r)
			checks, _ := walk(&r, midnight, midnight.Add(resyncInterval))
			got := make(map[Pair]int)
			for at, turns := range checks {
				got[at] = len(turns)
			}
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(Pair{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if len(r.at) != len(test.want) || len(r.queue) != len(r.flat()) {
				t.Errorf("kept: %d pairs, %d turns", len(r.at), len(r.queue))
			}
		})
	}
}

func (r *SecretSchedule) flat() (all []string) {
	for _, ofPair := range r.at {
		for name := range ofPair {
			all = append(all, name)
		}
	}
	return all
}

func TestTheScheduleStoresTheVersionOfAScheduledSecret(t *testing.T) {
	var r SecretSchedule
	r.Note(noPlace, "a", "7") // no effect: the Secret is not scheduled yet
	before := r.Version(noPlace, "a")
	r.Enlist(noPlace, []string{"a"}, midnight)
	r.Note(noPlace, "a", "8")
	r.Enlist(noPlace, []string{"a", "b"}, midnight)
	if diff := cmp.Diff([]string{"", "8", ""}, []string{before, r.Version(noPlace, "a"), r.Version(noPlace, "b")}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
