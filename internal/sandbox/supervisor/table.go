// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"maps"
	"slices"
	"sync"
)

// table has the processes of a sandbox, and the runners of those that run.
type table struct {
	mu        sync.Mutex
	self      Identity  // of the supervisor
	processes []Process // in the order in which they were added
	stopped   map[string]bool
	runners   map[string]*runner // by Process.Key
}

func newTable() *table { return &table{stopped: map[string]bool{}, runners: map[string]*runner{}} }

// begin sets the identity of the supervisor and the clusters that are stopped.
func (t *table) begin(self Identity, stopped []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.self = self
	for _, c := range stopped {
		t.stopped[c] = true
	}
}

// add makes p one of the processes, in place of one with the same name. Unless the cluster of p is stopped, it starts the runner that
// newRunner returns.
func (t *table) add(p Process, newRunner func(Process) *runner) {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.IndexFunc(t.processes, func(o Process) bool { return o.Key() == p.Key() })
	if i < 0 {
		t.processes = append(t.processes, p)
	} else {
		t.processes[i] = p
	}
	if !t.stopped[p.Cluster] {
		r := newRunner(p)
		t.runners[p.Key()] = r
		go r.run()
	}
}

// The method has reports whether p is in the table unchanged and has a runner. A process of a stopped cluster needs no runner.
func (t *table) has(p Process) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.ContainsFunc(t.processes, p.equal) && (t.runners[p.Key()] != nil || t.stopped[p.Cluster])
}

// take removes the runner with this key and returns it; nil if there is none. The caller has to end the runner.
func (t *table) take(key string) *runner {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.runners[key]
	delete(t.runners, key)
	return r
}

// remove removes the process with this key. The caller has taken its runner.
func (t *table) remove(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.processes = slices.DeleteFunc(t.processes, func(o Process) bool { return o.Key() == key })
}

// stop marks a cluster as stopped, and returns its processes.
func (t *table) stop(cluster string) []Process {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stopped[cluster] = true
	return t.of(cluster)
}

// start marks a cluster as not stopped, and returns those of its processes that have no runner.
func (t *table) start(cluster string) []Process {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.stopped, cluster)
	return slices.DeleteFunc(t.of(cluster), func(p Process) bool { return t.runners[p.Key()] != nil })
}

// The method of returns the processes of a cluster. The caller has to hold mu.
func (t *table) of(cluster string) []Process {
	var own []Process
	for _, p := range t.processes {
		if p.Cluster == cluster {
			own = append(own, p)
		}
	}
	return own
}

// all returns the clusters that have processes, and all runners.
func (t *table) all() (clusters []string, runners []*runner) {
	t.mu.Lock()
	defer t.mu.Unlock()
	names := map[string]bool{}
	for _, p := range t.processes {
		names[p.Cluster] = true
	}
	return slices.Collect(maps.Keys(names)), slices.Collect(maps.Values(t.runners))
}

// stoppedClusters returns a copy of the set of stopped clusters.
func (t *table) stoppedClusters() map[string]bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.stopped)
}

// setStopped replaces the set of stopped clusters.
func (t *table) setStopped(stopped map[string]bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stopped = stopped
}

// allReady reports whether all these processes of a cluster are ready.
func (t *table) allReady(cluster string, names []string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, name := range names {
		r := t.runners[Process{Cluster: cluster, Name: name}.Key()]
		if r == nil {
			return false
		}
		if status, _ := r.look(); status.Phase != PhaseReady {
			return false
		}
	}
	return true
}

// statuses returns the status of all processes. dir is the folder of the sandbox.
func (t *table) statuses(dir string) []Status {
	t.mu.Lock()
	defer t.mu.Unlock()
	var list []Status
	for _, p := range t.processes {
		if r := t.runners[p.Key()]; r != nil {
			status, _ := r.look()
			list = append(list, status)
			continue
		}
		list = append(list, Status{Cluster: p.Cluster, Name: p.Name, Phase: PhaseStopped, Log: LogFile(dir, p.Cluster, p.Name)})
	}
	return list
}

// write writes the record into the folder dir. It holds the lock meanwhile, so that an older record never replaces a newer one.
func (t *table) write(dir string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := processRecord{Supervisor: t.self, Stopped: slices.Sorted(maps.Keys(t.stopped))}
	for _, p := range t.processes {
		entry := recorded{Process: p}
		if run := t.runners[p.Key()]; run != nil {
			_, entry.Running = run.look()
		}
		r.Processes = append(r.Processes, entry)
	}
	return r.write(dir)
}
