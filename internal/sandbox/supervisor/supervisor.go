// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
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

// supervisor keeps the processes of a sandbox running. protocol.go has the requests, change.go the changes, table.go the processes, and
// this file the record and the logs.
type supervisor struct {
	dir     string
	log     io.Writer
	starter starter

	ending   atomic.Bool
	changing sync.Mutex // held while a request changes the processes: one request at a time
	table    *table
}

// Run supervises the sandbox in the folder dir. It returns when the sandbox is taken down, the folder disappears, or this process
// gets SIGINT or SIGTERM. After a signal the record stays, and the next supervisor starts everything again.
func Run(dir string, log io.Writer) error {
	if err := supported(); err != nil {
		return err
	}
	lock, err := filelock.Try(filepath.Join(dir, lockName))
	if err != nil {
		return fmt.Errorf("supervising %s: %w", dir, err)
	}
	defer func() { _ = lock.Release() }() // the kernel releases the lock anyhow when the process ends
	s := &supervisor{dir: dir, log: log, starter: newStarter(), table: newTable()}
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
	s.table.begin(self, r.Stopped)
	for _, p := range r.Processes {
		s.add(p.Process)
	}
	s.save()
	s.logf("supervising %d processes", len(r.Processes))
	return nil
}

// save writes the record. An error is only logged: when the supervisor dies, the kernel kills its children, so the record is rarely needed to find them.
func (s *supervisor) save() {
	if err := s.table.write(s.dir); err != nil {
		s.logf("%v", err)
	}
}

func (s *supervisor) boundLogs() {
	for _, status := range s.table.statuses(s.dir) {
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
