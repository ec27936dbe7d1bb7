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

// reading is the cost of a work. Names and units are the API of OUT. A peer's readings have the same fields: its controller manager is
// the manager, and it has no collectors.
type reading struct {
	// HostCPUSeconds is the manager's time. MemberCPUSeconds is the time of all collectors.
	HostCPUSeconds   float64 `json:"hostCPUSeconds"`
	MemberCPUSeconds float64 `json:"memberCPUSeconds"`
	// APIServerCPUSeconds is the time of all API servers and etcds, of the host and of the members.
	APIServerCPUSeconds float64 `json:"apiServerCPUSeconds"`
	HostWrites          int     `json:"hostWrites"`
	HostRequests        int     `json:"hostRequests"`
	// MemberWrites and MemberRequests count manager and collector together. CollectorWrites and CollectorRequests are
	// the collector's part.
	MemberWrites      map[string]int `json:"memberWrites"`
	MemberRequests    map[string]int `json:"memberRequests"`
	CollectorWrites   map[string]int `json:"collectorWrites"`
	CollectorRequests map[string]int `json:"collectorRequests"`
	// IdempotentWrites are the writes on all clusters that did not change the object.
	IdempotentWrites int `json:"idempotentWrites"`
	// HostObjects are objects on the host beyond the user's, without events.
	HostObjects int `json:"hostObjects"`
	HostEvents  int `json:"hostEvents"`
	// RSSPeakBytes is the manager's peak, MemberRSSPeakBytes the highest peak of a collector.
	RSSPeakBytes       uint64  `json:"rssPeakBytes"`
	MemberRSSPeakBytes uint64  `json:"memberRSSPeakBytes"`
	Seconds            float64 `json:"seconds"`
	// More are figures that only one work has.
	More map[string]float64 `json:"more,omitempty"`
}

// meter measures a work.
type meter struct {
	bed     *bed
	started time.Time
	cpu     map[int]float64 // seconds by pid, when it began
	marks   map[string]audit.Mark
	watched map[string]*watched
	objects objectCount
	// stop ends the watches.
	stop context.CancelFunc
}

// measure starts a meter. The caller must call stop.
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

// end takes the reading. usersObjects is the number of objects that the user created on the host meanwhile.
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
		spent := cpu - m.cpu[s.PID] // all of it for a new process
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
			continue // it started later
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

// add counts the requests of the federation to one cluster.
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

// processes returns the federation's processes.
func (b *bed) processes(ctx context.Context) ([]supervisor.Status, error) {
	all, err := b.box.Processes(ctx)
	if err != nil {
		return nil, err
	}
	var found []supervisor.Status
	for _, s := range all {
		if s.PID != 0 && b.measured.runs(s) {
			found = append(found, s)
		}
	}
	return found, nil
}

// isServer reports whether a process is an API server or an etcd.
func isServer(s supervisor.Status) bool {
	return s.Name == binaries.APIServer || s.Name == binaries.Etcd
}

// cpuOf returns the CPU time of a process, in seconds of one core.
func cpuOf(pid int) (float64, error) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return 0, err
	}
	stat, err := p.Stat()
	return stat.CPUTime(), err
}

// peakOf returns the peak resident memory of a process since forgetPeak, in bytes.
func peakOf(pid int) (uint64, error) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return 0, err
	}
	status, err := p.NewStatus()
	return status.VmHWM, err
}

// forgetPeak resets the peak that the kernel keeps for a process.
func forgetPeak(pid int) error {
	if err := os.WriteFile("/proc/"+strconv.Itoa(pid)+"/clear_refs", []byte("5"), 0o200); err != nil {
		return fmt.Errorf("beginning a peak of memory anew: %w", err)
	}
	return nil
}

func round(f float64) float64 { return math.Round(f*1000) / 1000 }
