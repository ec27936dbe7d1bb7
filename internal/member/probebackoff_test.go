// SPDX-License-Identifier: Apache-2.0

package member

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestNextProbe(t *testing.T) {
	want := []time.Duration{ProbeInterval, time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, RetryInterval, RetryInterval}
	var got []time.Duration
	for failures := range len(want) {
		got = append(got, nextProbe(failures))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := nextProbe(1 << 20); got != RetryInterval {
		t.Errorf("after very many failures: %s", got)
	}
}
