// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/fairlead-dev/fairlead/internal/filelock"
)

const (
	stopGrace = 20 * time.Second // etcd, and an API server with watchers, need several seconds to end without a loss of data
	downGrace = time.Second      // short, because Down deletes all data next
	tidyEvery = 5 * time.Second
)

// supervisor is the state of the supervisor. All its methods need the same lock and the same processes, so they belong to one type. protocol.go has the requests,
// change.go the changes, and this file the record and the logs.
type supervisor struct {
	dir     string
	log     io.Writer
	starter starter

	ending   atomic.Bool
	changing sync.Mutex // held while a request changes the processes: one request at a time

	mu        sync.Mutex
	self      Identity
	processes []Process // in the order in which they were added
	stopped   map[string]bool
	runners   map[string]*runner // by Process.Key
}

// Run supervises the sandbox in the folder dir. It returns when the sandbox is taken down, the folder disappears, or the process gets a signal. After a signal the record
// stays, and the next supervisor starts everything again.
func Run(dir string, log io.Writer) error {
	if err := supported(); err != nil {
		return err
	}
	lock, err := filelock.Try(filepath.Join(dir, lockName))
	if err != nil {
		return fmt.Errorf("supervising %s: %w", dir, err)
	}
	defer func() { _ = lock.Release() }() // the kernel releases the lock anyhow when the process ends
	s := &supervisor{dir: dir, log: log, starter: newStarter(), stopped: map[string]bool{}, runners: map[string]*runner{}}
	listener, closeSocket, err := s.listen()
	if err != nil {
		return err
	}
	defer closeSocket()
	if err := s.takeOver(); err != nil {
		return err
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
	down := make(chan struct{})
	go s.serve(listener, down)
	tidy := time.NewTicker(tidyEvery)
	defer tidy.Stop()
	for {
		select {
		case sig := <-signals:
			s.logf("ending everything: %s", sig)
			s.endAll(stopGrace)
			return nil
		case <-down:
			return nil
		case <-tidy.C:
			if _, err := os.Stat(filepath.Join(dir, recordName)); errors.Is(err, os.ErrNotExist) {
				s.endAll(0)
				return fmt.Errorf("supervising %s: the folder is gone, so the supervisor has ended all processes", dir)
			}
			s.boundLogs()
		}
	}
}

// takeOver reads the record of the supervisor before this one, ends the programs that still run, and starts all processes.
func (s *supervisor) takeOver() error {
	r, err := readRecord(s.dir)
	if err != nil { // a power cut can damage the record; Up asks for the processes again
		s.logf("%v; the supervisor starts with an empty record", err)
		r = processRecord{}
	}
	if err := r.endLeftovers(context.Background(), downGrace); err != nil {
		return err
	}
	self, err := identify(os.Getpid())
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.self = self
	s.mu.Unlock()
	for _, c := range r.Stopped {
		s.stopped[c] = true
	}
	for _, p := range r.Processes {
		s.add(p.Process)
	}
	s.save()
	s.logf("supervising %d processes", len(r.Processes))
	return nil
}

// of returns the processes of a cluster. The caller has to hold mu.
func (s *supervisor) of(cluster string) []Process {
	var own []Process
	for _, p := range s.processes {
		if p.Cluster == cluster {
			own = append(own, p)
		}
	}
	return own
}

func (s *supervisor) allReady(cluster string, names []string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range names {
		r := s.runners[Process{Cluster: cluster, Name: name}.Key()]
		if r == nil {
			return false
		}
		if status, _ := r.look(); status.Phase != PhaseReady {
			return false
		}
	}
	return true
}

func (s *supervisor) statuses() []Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []Status
	for _, p := range s.processes {
		if r := s.runners[p.Key()]; r != nil {
			status, _ := r.look()
			list = append(list, status)
			continue
		}
		list = append(list, Status{Cluster: p.Cluster, Name: p.Name, Phase: PhaseStopped, Log: LogFile(s.dir, p.Cluster, p.Name)})
	}
	return list
}

// save writes the record. An error is only logged: when the supervisor dies, the kernel kills its children, so the record is rarely needed to find them.
func (s *supervisor) save() {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := processRecord{Supervisor: s.self, Stopped: slices.Sorted(maps.Keys(s.stopped))}
	for _, p := range s.processes {
		entry := recorded{Process: p}
		if run := s.runners[p.Key()]; run != nil {
			_, entry.Running = run.look()
		}
		r.Processes = append(r.Processes, entry)
	}
	if err := r.write(s.dir); err != nil {
		s.logf("%v", err)
	}
}

func (s *supervisor) boundLogs() {
	for _, status := range s.statuses() {
		if err := boundLog(status.Log, maxLog); err != nil {
			s.logf("rotating the log of %s/%s: %v", status.Cluster, status.Name, err)
		}
	}
}

func (s *supervisor) logf(format string, args ...any) {
	now := time.Now().UTC().Format(time.RFC3339)
	_, _ = fmt.Fprintln(s.log, now, fmt.Sprintf(format, args...)) // if the log cannot be written, there is no other place to report that
}

func (s *supervisor) listen() (net.Listener, func(), error) {
	path, done, err := socketPath(s.dir)
	if err != nil {
		return nil, nil, fmt.Errorf("opening the supervisor's socket: %w", err)
	}
	_ = os.Remove(path) // a killed supervisor may have left its socket. No supervisor uses it now: this one has the lock
	l, err := net.Listen("unix", path)
	if err != nil {
		done()
		return nil, nil, fmt.Errorf("opening the supervisor's socket: %w", err)
	}
	return l, func() { _ = l.Close(); done() }, nil
}
