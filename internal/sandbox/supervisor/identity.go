// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Identity tells one process from every other that ever had its pid.
type Identity struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // clock ticks from boot to its start
	Boot  string `json:"boot"`  // of the machine; another one means that it was restarted since
}

// zero is an identity of nothing.
func (id Identity) zero() bool { return id.PID <= 0 }

// parseStat reads state and start time from /proc/PID/stat. The second field is the program's name in parentheses and
// may hold spaces and parentheses itself, so fields are counted from the last one.
func parseStat(stat string) (state byte, start uint64, err error) {
	end := strings.LastIndexByte(stat, ')')
	if end < 0 {
		return 0, 0, fmt.Errorf("reading process state %q: no program name", stat)
	}
	fields := strings.Fields(stat[end+1:])
	const startField = 22 - 3 // proc(5) counts from 1, and state is its third
	if len(fields) <= startField {
		return 0, 0, fmt.Errorf("reading process state %q: too few fields", stat)
	}
	start, err = strconv.ParseUint(fields[startField], 10, 64)
	return fields[0][0], start, err
}

// End asks the process and its group to end, and kills them when they still run after grace. A process that is not
// the one that was recorded is left alone.
func (id Identity) End(ctx context.Context, grace time.Duration) error {
	if !id.Alive() {
		return nil
	}
	if grace > 0 {
		id.signal(syscall.SIGTERM)
		if id.gone(ctx, grace) {
			return nil
		}
	}
	id.signal(syscall.SIGKILL)
	if !id.gone(ctx, killed) {
		return fmt.Errorf("ending process %d: it still runs %s after SIGKILL", id.PID, killed)
	}
	return nil
}

// killed is how long the kernel gets to take a killed process away.
const killed = 10 * time.Second

func (id Identity) gone(ctx context.Context, within time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for id.Alive() {
		select {
		case <-ctx.Done():
			return !id.Alive()
		case <-tick.C:
		}
	}
	return true
}
