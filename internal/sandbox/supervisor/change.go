// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// add makes p one of the recorded processes, in place of one with the same name, and starts p unless its cluster is stopped.
func (s *supervisor) add(p Process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.processes, func(o Process) bool { return o.Key() == p.Key() })
	if i < 0 {
		s.processes = append(s.processes, p)
	} else {
		s.processes[i] = p
	}
	if !s.stopped[p.Cluster] {
		r := newRunner(s, p)
		s.runners[p.Key()] = r
		go r.run()
	}
}

// take removes the runner with this key from the map runners and returns it; nil if there is none. The caller has to end the runner.
func (s *supervisor) take(key string) *runner {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.runners[key]
	delete(s.runners, key)
	return r
}

func (s *supervisor) apply(list []Process) error {
	for _, p := range list {
		if err := p.check(); err != nil {
			return err
		}
	}
	for _, p := range list {
		if s.has(p) {
			continue
		}
		if r := s.take(p.Key()); r != nil {
			r.end(stopGrace)
		}
		s.add(p)
	}
	s.save()
	return nil
}

// has reports whether p is recorded unchanged and has a runner. A process of a stopped cluster needs no runner.
func (s *supervisor) has(p Process) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.processes, p.equal) && (s.runners[p.Key()] != nil || s.stopped[p.Cluster])
}

func (s *supervisor) remove(cluster, name string) {
	p := Process{Cluster: cluster, Name: name}
	if r := s.take(p.Key()); r != nil {
		r.end(stopGrace)
	}
	s.mu.Lock()
	s.processes = slices.DeleteFunc(s.processes, func(o Process) bool { return o.Key() == p.Key() })
	s.mu.Unlock()
	s.save()
}

// stopCluster ends the processes of a cluster. A process ends before the processes in its field After.
func (s *supervisor) stopCluster(cluster string, grace time.Duration) {
	s.mu.Lock()
	s.stopped[cluster] = true
	own := s.of(cluster)
	s.mu.Unlock()
	for _, layer := range slices.Backward(layers(own)) {
		var wait sync.WaitGroup
		for _, p := range layer {
			if r := s.take(p.Key()); r != nil {
				wait.Go(func() { r.end(grace) })
			}
		}
		wait.Wait()
	}
	s.save()
}

func (s *supervisor) startCluster(cluster string) {
	s.mu.Lock()
	delete(s.stopped, cluster)
	var idle []Process
	for _, p := range s.of(cluster) {
		if s.runners[p.Key()] == nil {
			idle = append(idle, p)
		}
	}
	s.mu.Unlock()
	for _, p := range idle {
		s.add(p)
	}
	s.save()
}

// endAll ends every process. The record still lists them, so the next supervisor starts them again. With a grace shorter than stopGrace, all processes end at the same
// time, in no order.
//
// A second call returns at once. For example, a signal comes while the supervisor answers opDown: the supervisor then exits, and the kernel
// kills every process that still runs.
func (s *supervisor) endAll(grace time.Duration) {
	if !s.ending.CompareAndSwap(false, true) {
		return
	}
	s.changing.Lock() // never unlocked again: no request can start a process from here on
	s.mu.Lock()
	clusters := map[string]bool{}
	for _, p := range s.processes {
		clusters[p.Cluster] = true
	}
	runners := slices.Collect(maps.Values(s.runners))
	s.mu.Unlock()
	var wait sync.WaitGroup
	if grace < stopGrace {
		for _, r := range runners {
			wait.Go(func() { r.end(grace) })
		}
		wait.Wait()
		return
	}
	before := maps.Clone(s.stopped)
	for c := range clusters {
		wait.Go(func() { s.stopCluster(c, grace) })
	}
	wait.Wait()
	s.mu.Lock()
	s.stopped = before
	s.mu.Unlock()
	s.save()
}
