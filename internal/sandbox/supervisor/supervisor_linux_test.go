// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestWhatEndsIsStartedAgain(t *testing.T) {
	c, _ := launched(t)
	apply(t, c, shell("zero", "exit 0"))
	eventually(t, "a second run of a process that ended with 0", func() bool { return status(t, c, "zero").Restarts >= 1 })
	if got := status(t, c, "zero").LastExit; got != "exit status 0" {
		t.Errorf("last exit: %q", got)
	}
}

func TestTheNextSupervisorContinuesAfterAKilledOne(t *testing.T) {
	c, dir := launched(t)
	apply(t, c, shell("server", forEver))
	if err := c.WaitReady(t.Context(), "member-1"); err != nil {
		t.Fatal(err)
	}
	before, err := readRecord(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(before.Supervisor.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the child to die with its supervisor", func() bool { return !before.Processes[0].Running.Alive() })
	if _, err := c.Status(t.Context()); !errors.Is(err, ErrNotRunning) {
		t.Errorf("status of a dead supervisor: %v", err)
	}
	launch(t, c)
	if err := c.WaitReady(t.Context(), "member-1", "server"); err != nil {
		t.Error(err)
	}
}

func TestLeftoversOfADeadSupervisorAreEndedAndStrangersLeftAlone(t *testing.T) {
	left, stranger := sleeper(t), sleeper(t)
	recycled := identityOf(t, stranger)
	recycled.Start-- // the identity of an earlier process with the same pid
	rebooted := recycled
	rebooted.Start, rebooted.Boot = recycled.Start+1, "another"
	dir := t.TempDir()
	r := processRecord{Processes: []recorded{
		{Process: shell("left", forEver), Running: identityOf(t, left)},
		{Process: shell("recycled", forEver), Running: recycled},
		{Process: shell("from-before-a-reboot", forEver), Running: rebooted},
	}}
	if err := r.write(dir); err != nil {
		t.Fatal(err)
	}
	if err := NewClient(dir).Down(t.Context()); err != nil {
		t.Fatal(err)
	}
	if identityOf(t, stranger).Alive() == false {
		t.Error("a process that only has a recorded pid was ended")
	}
	if _, err := identify(left.Process.Pid); err == nil && identityOf(t, left).Alive() {
		t.Error("the leftover still runs")
	}
}

func TestStoppedClusterStaysStoppedUntilStart(t *testing.T) {
	c, dir := launched(t)
	order := filepath.Join(dir, "order")
	say := func(word string) string {
		return `trap 'echo ` + word + ` >> ` + order + `; exit 0' TERM; ` + forEver
	}
	apply(t, c, shell("store", say("store")), shell("server", say("server"), "store"))
	if err := c.WaitReady(t.Context(), "member-1"); err != nil {
		t.Fatal(err)
	}
	if err := c.Stop(t.Context(), "member-1"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("server\nstore", read(t, order)); diff != "" {
		t.Errorf("the server needs the store, so the server must end first: %s", diff)
	}
	apply(t, c, shell("late", forEver))
	for _, name := range []string{"store", "server", "late"} {
		if got := status(t, c, name).Phase; got != PhaseStopped {
			t.Errorf("%s of a stopped cluster is %s", name, got)
		}
	}
	if err := c.Start(t.Context(), "member-1"); err != nil {
		t.Fatal(err)
	}
	if err := c.WaitReady(t.Context(), "member-1"); err != nil {
		t.Error(err)
	}
}

func TestOnlyAChangedProcessIsStartedAgain(t *testing.T) {
	c, _ := launched(t)
	p := shell("server", forEver)
	pid := func() int {
		if err := c.WaitReady(t.Context(), "member-1"); err != nil {
			t.Fatal(err)
		}
		return status(t, c, "server").PID
	}
	apply(t, c, p)
	first := pid()
	apply(t, c, p)
	if got := pid(); got != first {
		t.Errorf("the same process was started again: pid %d, then %d", first, got)
	}
	p.Stamp = "another configuration"
	apply(t, c, p)
	if got := pid(); got == first {
		t.Error("a process with another stamp was left as it was")
	}
	if err := c.Remove(t.Context(), "member-1", "server"); err != nil {
		t.Fatal(err)
	}
	if got := status(t, c, "server"); got != (Status{}) {
		t.Errorf("a removed process is still there: %+v", got)
	}
}

func TestProcessThatNeverStaysIsNamedWithTheEndOfItsLog(t *testing.T) {
	c, _ := launched(t)
	apply(t, c, shell("broken", "echo no such flag; exit 3"), shell("waits", forEver, "broken-too"))
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	err := c.WaitReady(ctx, "member-1", "waits")
	if err == nil || !strings.Contains(err.Error(), "waits of member-1 (Waiting)") {
		t.Errorf("waiting for a process whose After never becomes ready returned: %v", err)
	}
	eventually(t, "an exit code", func() bool { return status(t, c, "broken").LastExit == "exit status 3" })
	if got := read(t, status(t, c, "broken").Log); !strings.Contains(got, "no such flag") {
		t.Errorf("the log of the broken process is %q", got)
	}
}

func TestTimeThatRanOutIsNotTakenForASupervisorThatDoesNotRun(t *testing.T) {
	c, _ := launched(t)
	ctx, cancel := context.WithDeadline(t.Context(), time.Unix(1, 0))
	defer cancel()
	if _, err := c.Status(ctx); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrNotRunning) {
		t.Error(err)
	}
}

func TestFolderThatVanishesTakesItsProcessesAlong(t *testing.T) {
	c, dir := launched(t)
	apply(t, c, shell("server", forEver))
	if err := c.WaitReady(t.Context(), "member-1"); err != nil {
		t.Fatal(err)
	}
	r, err := readRecord(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	eventually(t, "supervisor and child to end", func() bool { return !r.Supervisor.Alive() && !r.Processes[0].Running.Alive() })
}

func sleeper(t *testing.T) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/bin/sleep", "60")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // an error means that the process has ended already
		_ = cmd.Wait()
	})
	return cmd
}

func identityOf(t *testing.T, cmd *exec.Cmd) Identity {
	t.Helper()
	id, err := identify(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return id
}
