// SPDX-License-Identifier: Apache-2.0

package screen

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
)

// Age returns how long ago a time is, as kubectl shows it, for example 4m; "-" for no time. A time in the future counts as now, because
// the clock of the host can be ahead.
func Age(now time.Time, t metav1.Time) string {
	if t.IsZero() {
		return "-"
	}
	return duration.HumanDuration(max(0, now.Sub(t.Time)))
}

// Since returns the end of a sentence about a state that began at a time, for example ", for 4m"; "" for no time.
func Since(now time.Time, t metav1.Time) string {
	if t.IsZero() {
		return ""
	}
	return ", for " + Age(now, t)
}
