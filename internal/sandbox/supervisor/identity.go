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

// Identity tells a process from all others, also from earlier and later ones with the same pid.
type Identity struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // from the machine's boot to the start of the process, in clock ticks
	Boot  string `json:"boot"`  // the id of the machine's boot; it differs after a reboot
}

// zero reports whether the identity is empty, so that it identifies no process.
func (id Identity) zero() bool { return id.PID <= 0 }

// parseStat reads the state and the start time in the content of /proc/PID/stat. The second field is the program's name in
// parentheses, which can itself have spaces and parentheses. So parseStat counts the fields from the last closing parenthesis.
func parseStat(stat string) (state byte, start uint64, err error) {
	end := strings.LastIndexByte(stat, ')')
	if end < 0 {
		return 0, 0, fmt.Errorf("reading process state %q: no program name", stat)
	}
	fields := strings.Fields(stat[end+1:])
	const startField = 22 - 3 // proc(5) counts fields from 1; fields[0] is the state, its field 3
	if len(fields) <= startField {
		return 0, 0, fmt.Errorf("reading process state %q: too few fields", stat)
	}
	start, err = strconv.ParseUint(fields[startField], 10, 64)
	return fields[0][0], start, err
}

// End sends SIGTERM to the process and its group, and SIGKILL if the process runs longer than grace after that. Another process with
// the same pid gets no signal.
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

// killed is how long End waits after SIGKILL until the kernel has removed the process.
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
