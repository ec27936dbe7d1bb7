// SPDX-License-Identifier: Apache-2.0

package clockskew

import (
	"net/http"
	"testing"
	"time"
)

func TestAnEstimateIsThatOfTheNewestAnswerWithADate(t *testing.T) {
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	e := &Estimate{}
	if got := e.Ahead(); got != 0 {
		t.Errorf("before any answer: %s", got)
	}
	for _, answer := range []struct {
		date string
		want time.Duration
	}{
		{date: now.Add(time.Hour).Format(http.TimeFormat), want: time.Hour},
		{date: "", want: time.Hour},
		{date: now.Format(http.TimeFormat), want: 0},
	} {
		e.Observe(http.Header{"Date": {answer.date}}, now, now)
		if got := e.Ahead(); got != answer.want {
			t.Errorf("after an answer of %q: %s, want %s", answer.date, got, answer.want)
		}
	}
}
