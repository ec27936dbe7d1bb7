// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
)

// Process describes a program that should run for a cluster. The record holds it as JSON, for the next supervisor.
type Process struct {
	Cluster string   `json:"cluster"`         // its folder gets the log; the process stops and starts with it
	Name    string   `json:"name"`            // unique in its cluster
	Path    string   `json:"path"`            // of the program
	Args    []string `json:"args,omitempty"`  // without the program's name
	Env     []string `json:"env,omitempty"`   // added to the supervisor's environment, as NAME=value
	Unset   []string `json:"unset,omitempty"` // taken out of it
	Dir     string   `json:"dir,omitempty"`   // working directory; empty = the cluster's folder

	// Stamp changes whenever something changes that the process reads only when it starts: its program or its files. Apply
	// restarts a process whose stamp differs.
	Stamp string `json:"stamp,omitempty"`
	// After names processes of the same cluster that must be ready before this one starts. When the cluster stops, this one ends
	// before them.
	After []string `json:"after,omitempty"`
	// ReadyURL answers 200 once the process serves; empty = ready as soon as it runs.
	ReadyURL string `json:"readyURL,omitempty"`
	// ReadyCA is a file with the authority of an https ReadyURL; empty = any certificate will do.
	ReadyCA string `json:"readyCA,omitempty"`
	// ReadyCert and ReadyKey are files with the certificate that the client of ReadyURL shows, and its key; empty = none.
	ReadyCert string `json:"readyCert,omitempty"`
	ReadyKey  string `json:"readyKey,omitempty"`
}

// Key names a process in messages: cluster/name.
func (p Process) Key() string { return p.Cluster + "/" + p.Name }

func (p Process) check() error {
	switch {
	case p.Cluster == "" || p.Name == "":
		return errors.New("a process needs a cluster and a name")
	case strings.ContainsAny(p.Cluster+p.Name, "/\x00"), strings.HasPrefix(p.Name, "."), strings.HasPrefix(p.Cluster, "."):
		return fmt.Errorf("cluster %q and process %q name files: no slash and no leading dot", p.Cluster, p.Name)
	case !filepath.IsAbs(p.Path):
		return fmt.Errorf("process %s: path %q must be absolute", p.Key(), p.Path)
	}
	return nil
}

func (p Process) equal(other Process) bool { return reflect.DeepEqual(p, other) }

// environ returns the environment of the process: base without Unset, then Env, which wins because it is last.
func (p Process) environ(base []string) []string {
	var env []string
	for _, kv := range base {
		if name, _, _ := strings.Cut(kv, "="); !slices.Contains(p.Unset, name) {
			env = append(env, kv)
		}
	}
	return append(env, p.Env...)
}

// LogFile returns the path of the file with the output of a process.
func LogFile(dir, cluster, name string) string {
	return filepath.Join(dir, cluster, "logs", name+".log")
}

// Phase is the state of a process. An empty phase is a bug.
type Phase string

// The phases of a process.
const (
	PhaseWaiting  Phase = "Waiting"  // for the processes in After
	PhaseStarting Phase = "Starting" // it runs and does not answer yet
	PhaseReady    Phase = "Ready"    // it runs, and answers if it has a ReadyURL
	PhaseFailing  Phase = "Failing"  // it ended and will be started again
	PhaseStopped  Phase = "Stopped"  // with its cluster
)

// Status describes a process as it is now.
type Status struct {
	Cluster  string `json:"cluster"`
	Name     string `json:"name"`
	Phase    Phase  `json:"phase"`
	PID      int    `json:"pid,omitempty"`
	Restarts int    `json:"restarts,omitempty"` // since the supervisor started it first
	LastExit string `json:"lastExit,omitempty"` // as the system describes it
	Log      string `json:"log"`
}

// layers sorts processes by After: the processes of a layer need only those of earlier layers. It ignores unknown names
// in After, and circles. Such a process waits forever, and its status shows that.
func layers(list []Process) [][]Process {
	depth := map[string]int{}
	for range list { // the longest chain has as many links
		for _, p := range list {
			for _, after := range p.After {
				depth[p.Name] = max(depth[p.Name], min(depth[after]+1, len(list)))
			}
		}
	}
	byDepth := map[int][]Process{}
	for _, p := range list {
		byDepth[depth[p.Name]] = append(byDepth[depth[p.Name]], p)
	}
	var sorted [][]Process
	for _, d := range slices.Sorted(maps.Keys(byDepth)) {
		sorted = append(sorted, byDepth[d])
	}
	return sorted
}

// maxLog is the size at which a log is rotated, in bytes. One rotated log is kept.
const maxLog = 10 << 20

// boundLog rotates a log that is larger than limit. The process keeps the file open for appending, so boundLog copies the content and
// empties the file. Output between the two steps is lost.
func boundLog(path string, limit int64) error {
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) || err == nil && info.Size() <= limit {
		return nil
	}
	if err != nil {
		return err
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	content = content[max(0, int64(len(content))-limit):]
	return errors.Join(os.WriteFile(path+".1", content, 0o600), os.Truncate(path, 0))
}
