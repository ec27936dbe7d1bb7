// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"
)

const (
	// idleFor is the time for which W2 measures.
	idleFor = 120 * time.Second
	// nothing is the CPU time, in seconds per second, up to which the federation's processes together count as idle.
	nothing = 0.006
)

// quiet waits until the federation's processes have used almost no CPU for the time that the federation's method calm returns.
func (b *bed) quiet(ctx context.Context) error {
	var last float64
	since := time.Time{}
	return b.until(ctx, patience, func(ctx context.Context) (string, error) {
		processes, err := processesOf(ctx, b.box, b.measured)
		if err != nil {
			return "", err
		}
		sum := 0.0
		for _, s := range processes {
			cpu, err := cpuOf(s.PID)
			if err != nil {
				return "", err
			}
			sum += cpu
		}
		if since.IsZero() || sum-last > nothing*b.measured.calm().Seconds() || sum < last {
			last, since = sum, time.Now()
		}
		if time.Since(since) >= b.measured.calm() {
			return "", nil
		}
		return "waiting until the processes use almost no CPU", nil
	})
}

// idle runs the work W2: it measures the cost while there is nothing to do.
func idle(ctx context.Context, b *bed) (*reading, error) {
	if err := b.quiet(ctx); err != nil {
		return nil, err
	}
	m, err := b.measure(ctx)
	if err != nil {
		return nil, err
	}
	defer m.stop()
	if err := m.last(ctx, idleFor); err != nil {
		return nil, err
	}
	return m.end(ctx, 0)
}

// The method last waits until the meter has measured for this time.
func (m *meter) last(ctx context.Context, span time.Duration) error {
	return m.bed.until(ctx, 2*span, func(context.Context) (string, error) {
		if left := span - time.Since(m.started); left > 0 {
			return fmt.Sprintf("%d s to go", int(left.Seconds())), nil
		}
		return "", nil
	})
}
