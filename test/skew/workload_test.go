// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
	"time"
)

func TestADisturbedWorkloadIsTold(t *testing.T) {
	at := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	was := workload{deployment: "uid-1", generation: 1, applied: at, pods: []string{"pod-1 restarted 0 times", "pod-2 restarted 0 times"}}
	for name, c := range map[string]struct {
		change func(*workload)
		want   string
	}{
		"nothing":            {func(*workload) {}, ""},
		"created again":      {func(is *workload) { is.deployment = "uid-2" }, "created again"},
		"another generation": {func(is *workload) { is.generation = 2 }, "has generation 2, and had 1"},
		"no longer managed":  {func(is *workload) { is.applied = time.Time{} }, "no fields of Fairlead"},
		"written":            {func(is *workload) { is.applied = at.Add(time.Second) }, "written by Fairlead"},
		"a restart":          {func(is *workload) { is.pods = []string{"pod-1 restarted 1 times", was.pods[1]} }, "other pods"},
		"a new pod":          {func(is *workload) { is.pods = []string{was.pods[0], "pod-3 restarted 0 times"} }, "other pods"},
	} {
		t.Run(name, func(t *testing.T) {
			is := was
			c.change(&is)
			got := was.difference(&is)
			if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("the difference is %q, want %q", got, c.want)
			}
		})
	}
	if got := was.difference(nil); got != "is missing" {
		t.Errorf("the difference from no Deployment is %q", got)
	}
}
