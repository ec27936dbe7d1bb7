// SPDX-License-Identifier: Apache-2.0

package clockskew

import (
	"net/http"
	"testing"
	"time"
)

func TestHowFarAnotherClockIsAhead(t *testing.T) {
	asked := time.Date(2026, 3, 4, 5, 6, 7, 800_000_000, time.UTC)
	for name, tt := range map[string]struct {
		took time.Duration
		// theirs is how far the server's clock is ahead. The server writes the Date half way between the request and the
		// response.
		theirs time.Duration
		want   time.Duration
	}{
		"clocks that agree":                            {},
		"clocks that agree, and a member that is slow": {took: 20 * time.Second},
		"half a second, which a Date does not tell":    {theirs: -500 * time.Millisecond},
		"an hour ahead":                                {theirs: time.Hour, want: time.Hour},
		"an hour ahead, by a member that is slow":      {theirs: time.Hour, took: 4 * time.Second, want: time.Hour - 2*time.Second},
		"an hour behind":                               {theirs: -time.Hour, want: -time.Hour},
		"a clock that is years off":                    {theirs: 10 * 365 * 24 * time.Hour, want: 10 * 365 * 24 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			date := asked.Add(tt.took / 2).Add(tt.theirs).Format(http.TimeFormat)
			got, known := Offset(date, asked, asked.Add(tt.took))
			if !known || (got-tt.want).Abs() > time.Second || tt.want == 0 && got != 0 {
				t.Errorf("%s, %t; want %s", got, known, tt.want)
			}
		})
	}
	for _, date := range []string{"", "yesterday"} {
		if got, known := Offset(date, asked, asked); known || got != 0 {
			t.Errorf("%q: %s, %t", date, got, known)
		}
	}
}
