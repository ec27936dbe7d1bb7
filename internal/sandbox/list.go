// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-dev/fairlead/internal/sandbox/supervisor"
)

// These are the values of Status, for a sandbox and for a cluster.
const (
	StatusReady    = "Ready"    // all processes answer
	StatusDegraded = "Degraded" // a process does not answer, or does not answer yet
	StatusStopped  = "Stopped"  // a user or a test has stopped the cluster
	StatusDown     = "Down"     // no supervisor runs, for example after a reboot; `up` starts one
	StatusBroken   = "Broken"   // the state cannot be read; `down` removes the sandbox
)

// ListItem is one sandbox in the result of List.
type ListItem struct {
	Name     string           `json:"name"`
	Status   string           `json:"status"`
	Version  string           `json:"version,omitempty"`
	Created  time.Time        `json:"created,omitzero"`
	Clusters []ClusterSummary `json:"clusters"`
}

// ClusterSummary is one cluster in the result of List.
type ClusterSummary struct {
	Name       string              `json:"name"`
	Status     string              `json:"status"`
	Server     string              `json:"server"`
	Kubeconfig string              `json:"kubeconfig"`
	Processes  []supervisor.Status `json:"processes,omitempty"`
}

// List returns all sandboxes, sorted by name.
func List(ctx context.Context) ([]ListItem, error) {
	names, err := Names()
	if err != nil {
		return nil, err
	}
	cache, err := CacheDir()
	if err != nil {
		return nil, err
	}
	var list []ListItem
	for _, name := range names {
		s, err := Open(name)
		if err == nil {
			list = append(list, s.Summary(ctx))
			continue
		}
		summary := ListItem{Name: name, Status: StatusBroken}
		if info, err := os.Stat(filepath.Join(cache, "sandboxes", name)); err == nil {
			summary.Created = info.ModTime()
		} else if errors.Is(err, os.ErrNotExist) {
			continue // another command has removed the sandbox
		}
		list = append(list, summary)
	}
	return list, nil
}

// Summary returns the status of this sandbox and its clusters.
func (s *Sandbox) Summary(ctx context.Context) ListItem {
	st := s.state.get()
	sum := ListItem{Name: s.Name, Version: st.Version, Created: st.Created}
	processes, err := s.super.Status(ctx)
	down := err != nil
	for _, c := range st.Clusters {
		own := slices.DeleteFunc(slices.Clone(processes), func(p supervisor.Status) bool { return p.Cluster != c.Name })
		one := ClusterSummary{Name: c.Name, Status: clusterStatus(own), Server: c.Server(), Kubeconfig: c.Kubeconfig(), Processes: own}
		if down {
			one.Status = StatusDown
		}
		sum.Clusters = append(sum.Clusters, one)
	}
	sum.Status = sandboxStatus(sum.Clusters)
	return sum
}

func clusterStatus(processes []supervisor.Status) string {
	if len(processes) == 0 {
		return StatusDegraded
	}
	status := StatusReady
	for _, p := range processes {
		switch p.Phase {
		case supervisor.PhaseReady:
		case supervisor.PhaseStopped:
			return StatusStopped
		default:
			status = StatusDegraded
		}
	}
	return status
}

// sandboxStatus returns the status that all clusters have. If they differ, it returns a text that names the clusters which are not ready.
func sandboxStatus(clusters []ClusterSummary) string {
	if len(clusters) == 0 {
		return StatusBroken
	}
	var others []string
	same := true
	for _, c := range clusters {
		same = same && c.Status == clusters[0].Status
		if c.Status != StatusReady {
			others = append(others, fmt.Sprintf("%s %s", c.Name, c.Status))
		}
	}
	if same {
		return clusters[0].Status
	}
	return strings.Join(others, ", ")
}
