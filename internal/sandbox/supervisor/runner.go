// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"time"
)

const (
	pollEvery = 100 * time.Millisecond
	firstWait = 500 * time.Millisecond // the wait before the first restart; each further one is twice as long
	longWait  = 15 * time.Second
	settled   = 30 * time.Second // a process that has run for this long is not in a restart loop
)

// runner keeps one process running until end is called.
type runner struct {
	process Process
	home    *supervisor

	stopping context.Context // done when the process has to stop
	stop     context.CancelFunc
	done     chan struct{} // closed when the runner has ended

	mu      sync.Mutex
	grace   time.Duration // the time between SIGTERM and SIGKILL; end sets it before it calls stop
	running Identity
	status  Status
}

func newRunner(home *supervisor, p Process) *runner {
	ctx, cancel := context.WithCancel(context.Background())
	return &runner{process: p, home: home, stopping: ctx, stop: cancel, done: make(chan struct{}),
		status: Status{Cluster: p.Cluster, Name: p.Name, Phase: PhaseWaiting, Log: LogFile(home.dir, p.Cluster, p.Name)}}
}

// run keeps the process running, in a loop: wait for the processes in After, start the program, probe it, wait for its end.
func (r *runner) run() {
	defer close(r.done)
	for wait := firstWait; ; wait = min(2*wait, longWait) {
		r.set(func(s *Status) { s.Phase = PhaseWaiting })
		if !r.waitForOthers() {
			return
		}
		began := time.Now()
		err := r.runOnce()
		if r.stopping.Err() != nil {
			return
		}
		if time.Since(began) > settled {
			wait = firstWait
		}
		exit := "exit status 0"
		if err != nil {
			exit = err.Error()
		}
		r.home.logf("%s ended (%s); starting it again in %s", r.process.Key(), exit, wait)
		r.set(func(s *Status) { s.Phase, s.PID, s.LastExit = PhaseFailing, 0, exit; s.Restarts++ })
		select {
		case <-r.stopping.Done():
			return
		case <-time.After(wait):
		}
	}
}

func (r *runner) waitForOthers() bool {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for !r.home.table.allReady(r.process.Cluster, r.process.After) {
		select {
		case <-r.stopping.Done():
			return false
		case <-tick.C:
		}
	}
	return r.stopping.Err() == nil
}

func (r *runner) runOnce() error {
	cmd, out, err := r.command()
	if err != nil {
		return err
	}
	defer func() { _ = out.Close() }() // the process has a file descriptor of its own
	if err := r.home.starter.start(cmd); err != nil {
		return fmt.Errorf("starting %s: %w", r.process.Path, err)
	}
	id, err := identify(cmd.Process.Pid)
	if err != nil { // the process has ended already; Wait returns its exit status
		id = Identity{}
	}
	r.set(func(s *Status) { s.Phase, s.PID = PhaseStarting, cmd.Process.Pid })
	r.setRunning(id)
	r.home.save()
	ended := make(chan struct{})
	go r.probe(ended)
	go r.endWhenStopped(id, ended)
	err = cmd.Wait()
	close(ended)
	r.setRunning(Identity{})
	r.home.save()
	return err
}

func (r *runner) command() (*exec.Cmd, *os.File, error) {
	log := r.status.Log
	if err := os.MkdirAll(filepath.Dir(log), 0o700); err != nil {
		return nil, nil, err
	}
	if err := boundLog(log, maxLog); err != nil {
		return nil, nil, err
	}
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, err
	}
	cmd := exec.Command(r.process.Path, r.process.Args...)
	cmd.Dir = r.process.Dir
	if cmd.Dir == "" {
		cmd.Dir = filepath.Join(r.home.dir, r.process.Cluster)
	}
	cmd.Env = r.process.environ(os.Environ())
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = childAttr()
	return cmd, out, nil
}

// endWhenStopped ends the program when the runner is told to stop. It returns when the program has ended.
func (r *runner) endWhenStopped(id Identity, ended <-chan struct{}) {
	select {
	case <-ended:
	case <-r.stopping.Done():
		r.mu.Lock()
		grace := r.grace
		r.mu.Unlock()
		if err := id.End(context.Background(), grace); err != nil {
			r.home.logf("%s: %v", r.process.Key(), err)
		}
	}
}

// probe sends requests until the process answers one of them. A process that hangs after that is not noticed here, but by its clients.
func (r *runner) probe(ended <-chan struct{}) {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	client := probeClient(r.process)
	defer client.CloseIdleConnections()
	for r.process.ReadyURL != "" && !answers(client, r.process.ReadyURL) {
		select {
		case <-ended:
			return
		case <-tick.C:
		}
	}
	select {
	case <-ended: // without this case, a process that has ended would become Ready
	default:
		r.set(func(s *Status) { s.Phase = PhaseReady })
	}
}

func answers(client *http.Client, url string) bool {
	resp, err := client.Get(url)
	if err != nil {
		return false
	}
	return errors.Join(resp.Body.Close()) == nil && resp.StatusCode == http.StatusOK
}

func probeClient(p Process) *http.Client {
	// Without ReadyCA any certificate is accepted: the connection goes over loopback to a child of this process, and nothing secret is
	// sent.
	conf := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: p.ReadyCA == ""}
	if ca, err := os.ReadFile(p.ReadyCA); err == nil {
		conf.RootCAs = x509.NewCertPool()
		conf.RootCAs.AppendCertsFromPEM(ca)
	}
	if pair, err := tls.LoadX509KeyPair(p.ReadyCert, p.ReadyKey); err == nil {
		conf.Certificates = []tls.Certificate{pair}
	}
	return &http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{TLSClientConfig: conf, Proxy: nil}}
}

// end stops the process, and waits until it has ended.
func (r *runner) end(grace time.Duration) {
	r.mu.Lock()
	r.grace = grace
	r.mu.Unlock()
	r.stop()
	<-r.done
}

func (r *runner) set(change func(*Status)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.status)
}

func (r *runner) setRunning(id Identity) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running = id
}

func (r *runner) look() (Status, Identity) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.status, r.running
}

// starter starts children from one thread that never ends. The kernel sends a child its parent-death signal when the thread that started it ends, also if the
// parent goes on. Go can end its other threads at any time.
type starter chan func()

func newStarter() starter {
	s := make(starter)
	go func() {
		runtime.LockOSThread()
		for work := range s {
			work()
		}
	}()
	return s
}

func (s starter) start(cmd *exec.Cmd) error {
	result := make(chan error)
	s <- func() { result <- cmd.Start() }
	return <-result
}
