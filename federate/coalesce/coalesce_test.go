// SPDX-License-Identifier: Apache-2.0

package coalesce

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// crashing returns the status of a wrapper whose pod crashes on east.
func crashing(restarts, code int, log string) *v1alpha1.WrapperStatus {
	message := fmt.Sprintf("Deployment web: pod web-5d8f7c9b64-x7k2p: container app ended with exit code %d after %d restarts; from its log: %s", code, restarts, log)
	return &v1alpha1.WrapperStatus{
		Counts: v1alpha1.ClusterCounts{Placed: ptr.To[int32](2), Healthy: ptr.To[int32](1)},
		Conditions: []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: "CrashLoopBackOff",
			Message: "1 of 2 clusters are healthy; east is Degraded: " + message, LastTransitionTime: metav1.NewTime(now)}},
		Clusters: []v1alpha1.ClusterStatus{
			{Name: "east", State: v1alpha1.StateDegraded, Reason: "CrashLoopBackOff", Message: message, LastTransitionTime: metav1.NewTime(now)},
			{Name: "west", State: v1alpha1.StateHealthy, LastTransitionTime: metav1.NewTime(now)},
		},
	}
}

func TestHowMuchOfAStatusIsNew(t *testing.T) {
	before := crashing(5, 1, "panic: no route to the database")
	change := func(f func(*v1alpha1.WrapperStatus)) *v1alpha1.WrapperStatus {
		s := crashing(6, 1, "panic: no route to the database")
		f(s)
		return s
	}
	for name, test := range map[string]struct {
		next *v1alpha1.WrapperStatus
		want Change
	}{
		"nothing has changed": {before.DeepCopy(), 0},
		"one restart more":    {crashing(6, 1, "panic: no route to the database"), Repeat},
		"another pod": {change(func(s *v1alpha1.WrapperStatus) {
			s.Clusters[0].Message = strings.Replace(s.Clusters[0].Message, "x7k2p", "2lw4z", 1)
		}), Repeat},
		"another exit code":          {crashing(6, 127, "panic: no route to the database"), Reworded},
		"another line of the log":    {crashing(6, 1, "panic: no license"), Repeat},
		"only a condition's message": {change(func(s *v1alpha1.WrapperStatus) { s.Clusters = before.Clusters; s.Conditions[0].Message = "another" }), Reworded},
		"a state":                    {change(func(s *v1alpha1.WrapperStatus) { s.Clusters[1].State = v1alpha1.StateProgressing }), News},
		"a reason":                   {change(func(s *v1alpha1.WrapperStatus) { s.Clusters[0].Reason = "OOMKilled" }), News},
		"a member more":              {change(func(s *v1alpha1.WrapperStatus) { s.Clusters = append(s.Clusters, s.Clusters[1]) }), News},
		"a member less":              {change(func(s *v1alpha1.WrapperStatus) { s.Clusters = s.Clusters[:1] }), News},
		"a count":                    {change(func(s *v1alpha1.WrapperStatus) { s.Counts.Healthy = ptr.To[int32](0) }), News},
		"a condition more": {change(func(s *v1alpha1.WrapperStatus) {
			s.Conditions = append(s.Conditions, metav1.Condition{Type: v1alpha1.ConditionStalled})
		}), News},
		"the time of a state": {change(func(s *v1alpha1.WrapperStatus) {
			s.Clusters[0].LastTransitionTime = metav1.NewTime(now.Add(time.Second))
		}), News},
		"the generation": {change(func(s *v1alpha1.WrapperStatus) { s.ObservedGeneration++ }), News},
		"the rollout":    {change(func(s *v1alpha1.WrapperStatus) { s.Rollout.State = v1alpha1.RolloutPaused }), News},
	} {
		t.Run(name, func(t *testing.T) {
			was := before.DeepCopy()
			if got := OfStatus(was, test.next); got != test.want {
				t.Errorf("%d, want %d", got, test.want)
			}
			if OfStatus(was, before) != 0 {
				t.Error("OfStatus has changed its argument")
			}
		})
	}
}

// Three members report a restart each every ten seconds, as the collectors do at most.
func TestTheWritesOfAMinute(t *testing.T) {
	for name, test := range map[string]struct {
		change Change
		want   int
	}{"news": {News, 18}, "other words": {Reworded, 6}, "repeats": {Repeat, 2}} {
		t.Run(name, func(t *testing.T) {
			var w Writes
			written, again := 0, time.Time{}
			for second := range 60 {
				at := now.Add(time.Duration(second) * time.Second)
				if isChange := second%10 < 3; !isChange && (again.IsZero() || at.Before(again)) {
					continue
				}
				again = time.Time{}
				if wait := w.Wait(test.change, at); wait > 0 {
					again = at.Add(wait)
					continue
				}
				w.Wrote(test.change, at)
				written++
			}
			if written != test.want {
				t.Errorf("%d writes, want %d", written, test.want)
			}
		})
	}
}

func TestHowLongAChangeWaits(t *testing.T) {
	for name, test := range map[string]struct {
		wrote  []Change
		after  time.Duration
		change Change
		want   time.Duration
	}{
		"the first repeat":                           {nil, 0, Repeat, 0},
		"the first repeat after news":                {[]Change{News}, 0, Repeat, 0},
		"a second repeat":                            {[]Change{Repeat}, time.Second, Repeat, RepeatEvery - time.Second},
		"a repeat after other words":                 {[]Change{Reworded}, time.Second, Repeat, RepeatEvery - time.Second},
		"other words after a repeat":                 {[]Change{Repeat}, time.Second, Reworded, rewordedEvery - time.Second},
		"other words later":                          {[]Change{Repeat}, rewordedEvery, Reworded, 0},
		"a repeat later":                             {[]Change{Repeat}, RepeatEvery, Repeat, 0},
		"news after a repeat":                        {[]Change{Repeat}, 0, News, 0},
		"news do not delay the next repeat":          {[]Change{Repeat, News}, RepeatEvery - time.Second, Repeat, time.Second},
		"the clock has gone back by more than a day": {[]Change{Repeat}, -25 * time.Hour, Repeat, RepeatEvery},
	} {
		t.Run(name, func(t *testing.T) {
			var w Writes
			for _, c := range test.wrote {
				w.Wrote(c, now)
			}
			if got := w.Wait(test.change, now.Add(test.after)); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}
