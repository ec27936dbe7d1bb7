// SPDX-License-Identifier: Apache-2.0

package loopqueue

import (
	"testing"
	"time"
)

func TestTheBackoffOfALoop(t *testing.T) {
	limiter := RetryLimiter[string]()
	for want := 200 * time.Millisecond; want < time.Minute; want *= 2 {
		if got := limiter.When("a"); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	for range 100 {
		if got := limiter.When("a"); got != time.Minute {
			t.Fatalf("%s, want a minute", got)
		}
	}
	if got := limiter.When("b"); got != 200*time.Millisecond {
		t.Errorf("an item that failed once waits %s", got)
	}
	limiter.Forget("a")
	if got := limiter.When("a"); got != 200*time.Millisecond {
		t.Errorf("after a success the item waits %s", got)
	}
}
