// SPDX-License-Identifier: Apache-2.0

package connect

import (
	"context"
	"time"
)

// Pause waits before a command asks the host again. It returns the context's error at once when the user interrupts the command.
func Pause(ctx context.Context, duration time.Duration) error {
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
