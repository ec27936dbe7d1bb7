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

// Identity identifies a process, and distinguishes it from others that had the same pid before or after it.
type Identity struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // clock ticks from boot to its start
	Boot  string `json:"boot"`  // id of the machine's boot; another id means that the machine was restarted since
}

// zero reports whether no process is meant.
func (id Identity) zero() bool { return id.PID <= 0 }

// parseStat reads state and start time from /proc/PID/stat. The second field is the program's name in parentheses. The name can
// hold spaces and parentheses too, so the other fields are counted from the last parenthesis.
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

// End asks the process and its group to end, and kills them if they still run after grace. Another process with the same pid is left
// alone.
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

// killed is the time limit for the kernel to remove a killed process.
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
