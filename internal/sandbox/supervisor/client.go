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

// ErrNotRunning is the cause of an error if the sandbox has no running supervisor.
var ErrNotRunning = errors.New("its supervisor does not run")

const (
	startWithin = 15 * time.Second
	exitWithin  = 5 * time.Second // from the answer to opDown until the supervisor has exited
	hopeless    = 6               // WaitReady gives up when one process has ended this often. It has to be more than 2: some programs end once or twice before they keep running
	tailLines   = 15
)

// Client sends requests to the supervisor of the sandbox in one folder.
type Client struct{ dir string }

// NewClient returns a client for the sandbox in the folder dir. A supervisor need not run yet.
func NewClient(dir string) *Client { return &Client{dir} }

// Launch starts a supervisor, unless one runs, and returns when it answers. It starts the command argv in a session of its own, so
// that the supervisor outlives this process and its terminal. argv has to call Run for this folder.
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
	defer func() { _ = log.Close() }() // the supervisor has a file descriptor of its own
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = c.dir, log, log, detachedAttr()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting the supervisor: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }() // without Wait, a supervisor that ends before this process would stay as a zombie
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

// retire ends a running supervisor with all its processes. The record stays, so the next supervisor starts the processes again.
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

// Apply makes the supervisor run these processes. If a process runs already, the supervisor restarts it only if its description has
// changed.
func (c *Client) Apply(ctx context.Context, processes ...Process) error {
	_, err := c.ask(ctx, socketRequest{Op: opApply, Processes: processes})
	return err
}

// Remove ends a process and removes it from the record. An unknown process is no error.
func (c *Client) Remove(ctx context.Context, cluster, name string) error {
	_, err := c.ask(ctx, socketRequest{Op: opRemove, Cluster: cluster, Name: name})
	return err
}

// Stop ends the processes of a cluster. They do not run again before Start.
func (c *Client) Stop(ctx context.Context, cluster string) error {
	_, err := c.ask(ctx, socketRequest{Op: opStop, Cluster: cluster})
	return err
}

// Start starts the processes of a stopped cluster again.
func (c *Client) Start(ctx context.Context, cluster string) error {
	_, err := c.ask(ctx, socketRequest{Op: opStart, Cluster: cluster})
	return err
}

// Status returns the status of all processes.
func (c *Client) Status(ctx context.Context) ([]Status, error) {
	a, err := c.status(ctx)
	return a.Processes, err
}

// status asks the supervisor for its status. The time is limited, because a supervisor may hang.
func (c *Client) status(ctx context.Context) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	return c.ask(ctx, socketRequest{Op: opStatus})
}

// Down ends all processes and then the supervisor. It asks the supervisor to do so. If the supervisor does not answer, Down sends signals
// to it. Down also ends processes that a dead supervisor left. The caller removes the folder.
func (c *Client) Down(ctx context.Context) error {
	polite, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	_, asked := c.ask(polite, socketRequest{Op: opDown})
	r, err := readRecord(c.dir)
	if err != nil { // a power cut can damage the record, but it has also ended the processes
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

// endCounts counts how often processes end during one wait. It has, by name, the number of restarts that each process had when the
// wait began. Only later restarts count: a process may have had many before, for example because tests kill it.
type endCounts map[string]int

// observe returns how often the process has ended since the first call for its name. restarts is the number of restarts that the
// supervisor reports now. If it is smaller than before, a new supervisor has begun to count from 0, and observe also begins anew.
func (c endCounts) observe(name string, restarts int) int {
	from, known := c[name]
	if !known || restarts < from {
		from = restarts
		c[name] = from
	}
	return restarts - from
}

// WaitReady waits until the named processes of a cluster are ready. Without names it waits for all processes of the cluster. It gives up
// if a process ends again and again meanwhile. The error then has the last lines of that process's log.
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
				return fmt.Errorf("waiting for %s of %s: it ended %d times during the wait (%s); its log is %s and ends with\n%s",
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
		<-ctx.Done() // the dial can time out just before ctx is done, and only ctx has the cause
		return a, fmt.Errorf("asking the supervisor for %s: %w", req.Op, context.Cause(ctx))
	}
	if err != nil {
		return a, fmt.Errorf("asking the supervisor for %s: %w", req.Op, errors.Join(ErrNotRunning, err))
	}
	defer func() { _ = conn.Close() }() // an error does not matter: nothing more is sent or read
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	err = json.NewEncoder(conn).Encode(req)
	if err == nil {
		err = json.NewDecoder(conn).Decode(&a)
	}
	if hungUp(err) { // a killed supervisor ends a moment before the kernel closes its socket
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

// hungUp reports whether an error means that the supervisor has ended without an answer.
func hungUp(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, io.EOF)
}

// tailOf returns the last lines of a log file, indented, for a message.
func tailOf(path string) string {
	content, err := os.ReadFile(path)
	if err != nil {
		return "    (" + err.Error() + ")"
	}
	lines := strings.Split(strings.TrimRight(string(content), "\n"), "\n")
	return "    " + strings.Join(lines[max(0, len(lines)-tailLines):], "\n    ")
}
