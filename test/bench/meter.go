// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"strconv"
	"time"

	"github.com/prometheus/procfs"

	"github.com/fairlead-dev/fairlead/internal/sandbox"
	"github.com/fairlead-dev/fairlead/internal/sandbox/binaries"
	"github.com/fairlead-dev/fairlead/internal/sandbox/supervisor"
	"github.com/fairlead-dev/fairlead/internal/testing/audit"
)

// reading is the cost of a work. Scripts read it from the file that OUT names, so names and units must not change. For a peer, "the
// manager" means its controller manager; a peer has no collectors.
type reading struct {
	// HostCPUSeconds is the CPU time of the manager.
	HostCPUSeconds float64 `json:"hostCPUSeconds"`
	// MemberCPUSeconds is the CPU time of all collectors.
	MemberCPUSeconds float64 `json:"memberCPUSeconds"`
	// APIServerCPUSeconds is the CPU time of all API servers and etcds, of the host and of the members.
	APIServerCPUSeconds float64 `json:"apiServerCPUSeconds"`
	// HostWrites is the number of the federation's writes to the host.
	HostWrites int `json:"hostWrites"`
	// HostRequests is the number of the federation's requests to the host, including its writes.
	HostRequests int `json:"hostRequests"`
	// MemberWrites is the number of the federation's writes to each member, by the member's name.
	MemberWrites map[string]int `json:"memberWrites"`
	// MemberRequests is the number of the federation's requests to each member, including its writes, by the member's name.
	MemberRequests map[string]int `json:"memberRequests"`
	// CollectorWrites is the part of MemberWrites that collectors sent.
	CollectorWrites map[string]int `json:"collectorWrites"`
	// CollectorRequests is the part of MemberRequests that collectors sent.
	CollectorRequests map[string]int `json:"collectorRequests"`
	// IdempotentWrites is the number of successful writes, on all clusters, that changed no object.
	IdempotentWrites int `json:"idempotentWrites"`
	// HostObjects is the number of objects that the work added on the host, without those that the user created and without
	// events.
	HostObjects int `json:"hostObjects"`
	HostEvents  int `json:"hostEvents"`
	// RSSPeakBytes is the peak of the manager's resident memory during the work.
	RSSPeakBytes uint64 `json:"rssPeakBytes"`
	// MemberRSSPeakBytes is the peak of the collector that needed most resident memory.
	MemberRSSPeakBytes uint64  `json:"memberRSSPeakBytes"`
	Seconds            float64 `json:"seconds"`
	// More has the figures of this work that other works do not have, by name.
	More map[string]float64 `json:"more,omitempty"`
}

// meter measures one work: it keeps the counts from before the work, and its method end subtracts them from the counts after it.
type meter struct {
	bed     *bed
	started time.Time
	cpu     map[int]float64 // CPU seconds of each process before the work, by pid
	marks   map[string]audit.Mark
	watched map[string]*watched
	objects objectCount
	// stop ends the watches. The caller of measure has to call it.
	stop context.CancelFunc
}

// measure starts a meter.
func (b *bed) measure(ctx context.Context) (m *meter, err error) {
	ctx, stop := context.WithCancel(ctx)
	m = &meter{bed: b, cpu: make(map[int]float64), marks: make(map[string]audit.Mark), watched: make(map[string]*watched), stop: stop}
	defer func() {
		if err != nil {
			stop()
		}
	}()
	if m.objects, err = b.host.count(ctx); err != nil {
		return nil, err
	}
	for _, c := range b.clusters() {
		if m.watched[c.name], err = c.watch(ctx); err != nil {
			return nil, err
		}
	}
	all, err := b.box.Processes(ctx)
	if err != nil {
		return nil, err
	}
	for _, s := range all {
		if s.PID == 0 || !b.measured.runs(s) && !isServer(s) {
			continue
		}
		if m.cpu[s.PID], err = cpuOf(s.PID); err != nil {
			return nil, err
		}
		if isServer(s) {
			continue
		}
		if err := forgetPeak(s.PID); err != nil {
			return nil, err
		}
	}
	for _, c := range b.clusters() {
		if m.marks[c.name], err = audit.Now(c.auditLog); err != nil {
			return nil, err
		}
	}
	m.started = time.Now()
	return m, nil
}

// end returns the cost of the work so far. usersObjects is how many objects the bench itself has created on the host since the call of
// measure; they do not count.
func (m *meter) end(ctx context.Context, usersObjects int) (*reading, error) {
	r := &reading{
		Seconds:      round(time.Since(m.started).Seconds()),
		MemberWrites: make(map[string]int), MemberRequests: make(map[string]int),
		CollectorWrites: make(map[string]int), CollectorRequests: make(map[string]int),
	}
	if err := m.readProcesses(ctx, r); err != nil {
		return nil, err
	}
	if err := m.readLogs(r); err != nil {
		return nil, err
	}
	now, err := m.bed.host.count(ctx)
	if err != nil {
		return nil, err
	}
	r.HostObjects = now.objects - m.objects.objects - usersObjects
	r.HostEvents = now.events - m.objects.events
	return r, nil
}

func (m *meter) readProcesses(ctx context.Context, r *reading) error {
	all, err := m.bed.box.Processes(ctx)
	if err != nil {
		return err
	}
	for _, s := range all {
		if s.PID == 0 || !m.bed.measured.runs(s) && !isServer(s) {
			continue
		}
		cpu, err := cpuOf(s.PID)
		if err != nil {
			return err
		}
		if isServer(s) {
			r.APIServerCPUSeconds = round(r.APIServerCPUSeconds + cpu - m.cpu[s.PID])
			continue
		}
		peak, err := peakOf(s.PID)
		if err != nil {
			return err
		}
		spent := cpu - m.cpu[s.PID] // a process that started after the call of measure has no entry in m.cpu, so all its CPU time counts
		if s.Cluster == sandbox.HostName {
			r.HostCPUSeconds, r.RSSPeakBytes = round(r.HostCPUSeconds+spent), r.RSSPeakBytes+peak
			continue
		}
		r.MemberCPUSeconds, r.MemberRSSPeakBytes = round(r.MemberCPUSeconds+spent), max(r.MemberRSSPeakBytes, peak)
	}
	return nil
}

func (m *meter) readLogs(r *reading) error {
	for _, c := range m.bed.clusters() {
		mark, ok := m.marks[c.name]
		if !ok {
			continue // the cluster was started after the call of measure
		}
		requests, err := mark.Requests(m.bed.measured.sent)
		if err != nil {
			return err
		}
		writes := make(map[string]int)
		for _, one := range requests {
			if one.IsWrite() && one.Response.Code < 300 {
				writes[keyOf(one)]++
			}
		}
		r.IdempotentWrites += m.watched[c.name].idempotent(writes)
		r.add(c.name, requests)
	}
	return nil
}

// add adds the federation's requests to one cluster to the reading. name is the cluster's name.
func (r *reading) add(name string, requests []audit.Request) {
	for _, one := range requests {
		written := 0
		if one.IsWrite() {
			written = 1
		}
		if name == sandbox.HostName {
			r.HostRequests++
			r.HostWrites += written
			continue
		}
		r.MemberRequests[name]++
		r.MemberWrites[name] += written
		if isCollectors(one) {
			r.CollectorRequests[name]++
			r.CollectorWrites[name] += written
		}
	}
}

// processesOf returns the running processes of a federation in a sandbox.
func processesOf(ctx context.Context, box *sandbox.Sandbox, f federation) ([]supervisor.Status, error) {
	all, err := box.Processes(ctx)
	if err != nil {
		return nil, err
	}
	var found []supervisor.Status
	for _, s := range all {
		if s.PID != 0 && f.runs(s) {
			found = append(found, s)
		}
	}
	return found, nil
}

// isServer reports whether the process is an API server or an etcd.
func isServer(s supervisor.Status) bool {
	return s.Name == binaries.APIServer || s.Name == binaries.Etcd
}

// cpuOf returns the CPU time that a process has used, in seconds of one core.
func cpuOf(pid int) (float64, error) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return 0, err
	}
	stat, err := p.Stat()
	return stat.CPUTime(), err
}

// peakOf returns the peak of a process's resident memory since the last forgetPeak, in bytes.
func peakOf(pid int) (uint64, error) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return 0, err
	}
	status, err := p.NewStatus()
	return status.VmHWM, err
}

// forgetPeak makes the kernel measure a process's peak of resident memory anew.
func forgetPeak(pid int) error {
	if err := os.WriteFile("/proc/"+strconv.Itoa(pid)+"/clear_refs", []byte("5"), 0o200); err != nil {
		return fmt.Errorf("resetting the peak of resident memory: %w", err)
	}
	return nil
}

func round(f float64) float64 { return math.Round(f*1000) / 1000 }
