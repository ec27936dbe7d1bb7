// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// ErrNotRunning is returned when no supervisor runs for the sandbox.
var ErrNotRunning = errors.New("its supervisor does not run")

const (
	startWithin = 15 * time.Second
	exitWithin  = 5 * time.Second // for the supervisor to end after its answer to opDown
	hopeless    = 6               // ends of a process during one wait after which WaitReady gives up; some programs end once or twice before they stay
	tailLines   = 15
)

// Client talks to the supervisor of the sandbox in one folder.
type Client struct{ dir string }

// NewClient makes a client for the sandbox in folder dir, whether or not a supervisor runs for it.
func NewClient(dir string) *Client { return &Client{dir} }

// Launch makes sure that a supervisor runs for the sandbox. If there is none, it starts argv in a session of its own; argv must call
// Run for this folder. It returns once the supervisor answers.
func (c *Client) Launch(ctx context.Context, argv []string) error {
	if err := supported(); err != nil {
		return err
	}
	switch a, err := c.status(ctx); {
	case err == nil && a.Protocol == protocol:
		return nil
	case err == nil:
		if err := c.retire(ctx); err != nil {
			return err
		}
	}
	log, err := os.OpenFile(filepath.Join(c.dir, logName), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("starting the supervisor: %w", err)
	}
	defer func() { _ = log.Close() }() // the supervisor has its own descriptor
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = c.dir, log, log, detachedAttr()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting the supervisor: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }() // reaps it if it ends before this process does
	ctx, cancel := context.WithTimeoutCause(ctx, startWithin, fmt.Errorf("no answer within %s", startWithin))
	defer cancel()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		if _, err := c.Status(ctx); err == nil {
			return nil
		}
		select {
		case err := <-ended:
			return fmt.Errorf("starting the supervisor: %w\n%s", errors.Join(errors.New("it ended"), err), tailOf(log.Name()))
		case <-ctx.Done():
			return fmt.Errorf("starting the supervisor: %w\n%s", context.Cause(ctx), tailOf(log.Name()))
		case <-tick.C:
		}
	}
}

// retire ends a supervisor and everything it runs. The record stays for the next supervisor.
func (c *Client) retire(ctx context.Context) error {
	r, err := readRecord(c.dir)
	if err != nil {
		return err
	}
	if err := r.Supervisor.End(ctx, 3*stopGrace); err != nil {
		return fmt.Errorf("hostctl could not end the supervisor of the sandbox in %s, which another hostctl version started: %w", c.dir, err)
	}
	return nil
}

// Apply starts the processes. Processes that run already, unchanged, are left alone; changed ones are restarted.
func (c *Client) Apply(ctx context.Context, processes ...Process) error {
	_, err := c.ask(ctx, socketRequest{Op: opApply, Processes: processes})
	return err
}

// Remove ends a process and forgets it. An unknown process is no error.
func (c *Client) Remove(ctx context.Context, cluster, name string) error {
	_, err := c.ask(ctx, socketRequest{Op: opRemove, Cluster: cluster, Name: name})
	return err
}

// Stop ends all processes of a cluster. They stay down until Start.
func (c *Client) Stop(ctx context.Context, cluster string) error {
	_, err := c.ask(ctx, socketRequest{Op: opStop, Cluster: cluster})
	return err
}

// Start runs the processes of a stopped cluster again.
func (c *Client) Start(ctx context.Context, cluster string) error {
	_, err := c.ask(ctx, socketRequest{Op: opStart, Cluster: cluster})
	return err
}

// Status lists all processes.
func (c *Client) Status(ctx context.Context) ([]Status, error) {
	a, err := c.status(ctx)
	return a.Processes, err
}

// status has a time limit, so that a supervisor that hangs does not block it.
func (c *Client) status(ctx context.Context) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	return c.ask(ctx, socketRequest{Op: opStatus})
}

// Down ends all processes and then the supervisor, by request or else by force. It also ends processes that a dead supervisor left
// behind. The caller removes the folder.
func (c *Client) Down(ctx context.Context) error {
	polite, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	_, asked := c.ask(polite, socketRequest{Op: opDown})
	r, err := readRecord(c.dir)
	if err != nil { // damaged by a power cut: its processes ended with the machine
		r = processRecord{}
	}
	if asked == nil {
		r.Supervisor.gone(ctx, exitWithin)
	}
	if err := r.Supervisor.End(ctx, 0); err != nil {
		return fmt.Errorf("ending the supervisor: %w", err)
	}
	return r.endLeftovers(ctx, 0)
}

// endCounts counts how often processes end during one wait. Earlier ends do not count: tests kill processes on purpose, and
// the supervisor counts restarts over the whole life of a process. It has the restarts, by name, from which to count.
type endCounts map[string]int

// observe returns how often the process has ended since it was first observed. Fewer restarts than before come from a
// supervisor that was started again.
func (c endCounts) observe(name string, restarts int) int {
	from, known := c[name]
	if !known || restarts < from {
		from = restarts
		c[name] = from
	}
	return restarts - from
}

// WaitReady waits until the named processes of a cluster are ready, or all of them without names. It gives up early on a process that
// ends again and again while it waits. The error then has the last lines of that process's log.
func (c *Client) WaitReady(ctx context.Context, cluster string, names ...string) error {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	var open []Status
	ends := endCounts{}
	for {
		all, err := c.Status(ctx)
		switch {
		case err == nil:
			open = slices.DeleteFunc(all, func(s Status) bool {
				return s.Cluster != cluster || s.Phase == PhaseReady || len(names) > 0 && !slices.Contains(names, s.Name)
			})
		case ctx.Err() == nil || len(open) == 0:
			return err
		}
		if len(open) == 0 {
			return nil
		}
		for _, s := range open {
			if n := ends.observe(s.Name, s.Restarts); n >= hopeless {
				return fmt.Errorf("waiting for %s of %s: it ended %d times since (%s); its log is %s and ends with\n%s",
					s.Name, cluster, n, s.LastExit, s.Log, tailOf(s.Log))
			}
		}
		select {
		case <-ctx.Done():
			s := open[0]
			return fmt.Errorf("waiting for %s of %s (%s): %w; its log is %s and ends with\n%s",
				s.Name, cluster, s.Phase, context.Cause(ctx), s.Log, tailOf(s.Log))
		case <-tick.C:
		}
	}
}

func (c *Client) ask(ctx context.Context, req socketRequest) (answer, error) {
	var a answer
	path, done, err := socketPath(c.dir)
	if err != nil {
		return a, fmt.Errorf("asking the supervisor for %s: %w", req.Op, errors.Join(ErrNotRunning, err))
	}
	defer done()
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
	if timeout := net.Error(nil); errors.As(err, &timeout) && timeout.Timeout() {
		<-ctx.Done() // a dial times out at the context's deadline, a moment before the context itself may be done
		return a, fmt.Errorf("asking the supervisor for %s: %w", req.Op, context.Cause(ctx))
	}
	if err != nil {
		return a, fmt.Errorf("asking the supervisor for %s: %w", req.Op, errors.Join(ErrNotRunning, err))
	}
	defer func() { _ = conn.Close() }() // nothing more is sent or read
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	err = json.NewEncoder(conn).Encode(req)
	if err == nil {
		err = json.NewDecoder(conn).Decode(&a)
	}
	if hungUp(err) { // a killed process ends a moment before its socket closes
		err = errors.Join(ErrNotRunning, err)
	}
	if err != nil {
		return a, fmt.Errorf("asking the supervisor for %s: %w", req.Op, err)
	}
	if a.Error != "" {
		return a, errors.New(a.Error)
	}
	return a, nil
}

// hungUp reports whether the supervisor ended before it answered.
func hungUp(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, io.EOF)
}

// tailOf returns the last lines of a log, indented, for a message.
func tailOf(path string) string {
	content, err := os.ReadFile(path)
	if err != nil {
		return "    (" + err.Error() + ")"
	}
	lines := strings.Split(strings.TrimRight(string(content), "\n"), "\n")
	return "    " + strings.Join(lines[max(0, len(lines)-tailLines):], "\n    ")
}
