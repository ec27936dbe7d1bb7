// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"slices"
	"sync"
	"time"
)

// add makes p one of the recorded processes, in place of one with the same name, and starts p unless its cluster is stopped.
func (s *supervisor) add(p Process) {
	s.table.add(p, func(p Process) *runner { return newRunner(s, p) })
}

func (s *supervisor) apply(list []Process) error {
	for _, p := range list {
		if err := p.check(); err != nil {
			return err
		}
	}
	for _, p := range list {
		if s.table.has(p) {
			continue
		}
		if r := s.table.take(p.Key()); r != nil {
			r.end(stopGrace)
		}
		s.add(p)
	}
	s.save()
	return nil
}

func (s *supervisor) remove(cluster, name string) {
	key := Process{Cluster: cluster, Name: name}.Key()
	if r := s.table.take(key); r != nil {
		r.end(stopGrace)
	}
	s.table.remove(key)
	s.save()
}

// stopCluster ends the processes of a cluster. A process ends before the processes in its field After.
func (s *supervisor) stopCluster(cluster string, grace time.Duration) {
	for _, layer := range slices.Backward(layers(s.table.stop(cluster))) {
		var wait sync.WaitGroup
		for _, p := range layer {
			if r := s.table.take(p.Key()); r != nil {
				wait.Go(func() { r.end(grace) })
			}
		}
		wait.Wait()
	}
	s.save()
}

func (s *supervisor) startCluster(cluster string) {
	for _, p := range s.table.start(cluster) {
		s.add(p)
	}
	s.save()
}

// endAll ends every process. The record still lists them, so the next supervisor starts them again. With a grace shorter than
// stopGrace, all processes end at the same time, in no order.
//
// A second call returns at once, although the first call may still wait for processes. This happens if a signal comes while the supervisor
// answers opDown. The supervisor then exits, and the kernel kills every process that still runs.
func (s *supervisor) endAll(grace time.Duration) {
	if !s.ending.CompareAndSwap(false, true) {
		return
	}
	s.changing.Lock() // never unlocked again: no request can start a process from here on
	clusters, runners := s.table.all()
	var wait sync.WaitGroup
	if grace < stopGrace {
		for _, r := range runners {
			wait.Go(func() { r.end(grace) })
		}
		wait.Wait()
		return
	}
	before := s.table.stoppedClusters()
	for _, c := range clusters {
		wait.Go(func() { s.stopCluster(c, grace) })
	}
	wait.Wait()
	s.table.setStopped(before)
	s.save()
}
