// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestARecorderCountsOnlyTheStepsThatChangedAnObject(t *testing.T) {
	var reported []Step
	r := NewRecorder(func(s Step) { reported = append(reported, s) })
	r.Checked("the host at %s", "https://host")
	r.Note("mind %d things", 2)
	r.Done(Unchanged, "host: Secret a", "")
	r.Done(Created, "host: Secret b", "a note")
	want := []Step{
		{Outcome: Checked, What: "the host at https://host"}, {Outcome: Noted, What: "mind 2 things"},
		{Outcome: Unchanged, What: "host: Secret a"}, {Outcome: Created, What: "host: Secret b", Note: "a note"},
	}
	if diff := cmp.Diff(want, reported); diff != "" {
		t.Error(diff)
	}
	if r.Changes() != 1 {
		t.Errorf("%d changes", r.Changes())
	}
	silent := NewRecorder(nil)
	if silent.Done(Removed, "host: Secret a", ""); silent.Changes() != 1 {
		t.Errorf("%d changes", silent.Changes())
	}
}

func TestTheOutcomeOfAStepCombinesThoseOfItsObjects(t *testing.T) {
	for name, tc := range map[string]struct {
		outcomes []Outcome
		want     Outcome
	}{
		"nothing was written":       {outcomes: []Outcome{Unchanged, Unchanged}, want: Unchanged},
		"everything is new":         {outcomes: []Outcome{Created, Created}, want: Created},
		"some objects are new":      {outcomes: []Outcome{Created, Unchanged}, want: Configured},
		"an object was changed":     {outcomes: []Outcome{Configured, Unchanged}, want: Configured},
		"an object was removed":     {outcomes: []Outcome{Removed}, want: Configured},
		"there are no objects":      {want: Unchanged},
		"one is new, one different": {outcomes: []Outcome{Created, Configured}, want: Configured},
	} {
		var tally Tally
		for _, o := range tc.outcomes {
			tally.Add(o)
		}
		if got := tally.Outcome(); got != tc.want {
			t.Errorf("%s: want %s, got %s", name, tc.want, got)
		}
	}
}
