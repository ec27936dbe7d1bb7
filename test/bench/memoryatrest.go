// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"github.com/prometheus/procfs"

	"github.com/fairlead-dev/fairlead/internal/sandbox"
	"github.com/fairlead-dev/fairlead/internal/sandbox/supervisor"
)

const (
	restWork = "rest"
	// restTime is how long the manager has nothing to do before the bench reads its memory. Go's runtime collects an idle heap every two
	// minutes, and returns the memory to the kernel some seconds later.
	restTime = 130 * time.Second
)

// holdAtRest runs the work "rest", which measures the memory for one wrapper. It delivers as many wrappers as W1 and reads the manager's
// memory at rest. It does the same a second time, and divides the difference by the number of the second wrappers. So the
// result leaves out what the manager needs without any wrapper. With PROFILE=1 it also saves heap profiles.
func holdAtRest(ctx context.Context, b *bed) (*reading, error) {
	var at [2]atRest
	for i, prefix := range []string{"rest", "again"} {
		if err := b.makeNamespaces(ctx, prefix); err != nil {
			return nil, err
		}
		if _, _, err := b.deliver(ctx, prefix, b.objects); err != nil {
			return nil, err
		}
		if err := b.quiet(ctx); err != nil {
			return nil, err
		}
		b.step.Update("letting the manager rest for %s", restTime)
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(restTime):
		}
		processes, err := processesOf(ctx, b.box, b.measured)
		if err != nil {
			return nil, err
		}
		if at[i], err = memoryAtRest(ctx, processes); err != nil {
			return nil, err
		}
		if b.profiles == "" {
			continue
		}
		file := fmt.Sprintf("%s-%d.heap.pprof", restWork, (i+1)*b.objects)
		if err := fetchFromManager(ctx, "heap?gc=1", filepath.Join(b.profiles, file)); err != nil {
			return nil, err
		}
	}
	n := float64(b.objects)
	return &reading{More: map[string]float64{
		"rssBytes":            at[1].rss,
		"rssBytesPerWrapper":  (at[1].rss - at[0].rss) / n,
		"liveBytes":           at[1].live,
		"liveBytesPerWrapper": (at[1].live - at[0].live) / n,
	}}, nil
}

// atRest is the manager's memory in bytes. rss is the resident memory, live the heap after a garbage collection.
type atRest struct{ rss, live float64 }

// memoryAtRest reads the manager's memory. processes are those of the federation.
func memoryAtRest(ctx context.Context, processes []supervisor.Status) (is atRest, err error) {
	for _, s := range processes {
		if s.Cluster != sandbox.HostName {
			continue
		}
		p, err := procfs.NewProc(s.PID)
		if err != nil {
			return is, err
		}
		status, err := p.NewStatus()
		if err != nil {
			return is, err
		}
		is.rss += float64(status.VmRSS)
	}
	for range 2 { // twice: objects in pools or with finalizers survive the first collection
		if is.live, err = liveHeap(ctx); err != nil {
			return is, err
		}
	}
	return is, nil
}

var heapAlloc = regexp.MustCompile(`(?m)^# HeapAlloc = (\d+)$`)

// liveHeap makes the manager collect its garbage, and returns the size of its heap after that, in bytes.
func liveHeap(ctx context.Context) (float64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+pprofAddress+"/debug/pprof/heap?gc=1&debug=1", nil)
	if err != nil {
		return 0, err
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, fmt.Errorf("reading the manager's heap: %w", err)
	}
	defer func() { _ = answer.Body.Close() }() // the body is not used any more
	var text bytes.Buffer
	if _, err := text.ReadFrom(answer.Body); err != nil {
		return 0, fmt.Errorf("reading the manager's heap: %w", err)
	}
	found := heapAlloc.FindSubmatch(text.Bytes())
	if found == nil {
		return 0, fmt.Errorf("reading the manager's heap: its profile does not state HeapAlloc")
	}
	return strconv.ParseFloat(string(found[1]), 64)
}
