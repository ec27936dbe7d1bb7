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

// Process is something that should run for a cluster. It is kept as JSON, so that the next supervisor knows it too.
type Process struct {
	Cluster string   `json:"cluster"`         // whose folder gets the log, and with which it is stopped and started
	Name    string   `json:"name"`            // unique in its cluster
	Path    string   `json:"path"`            // of the program
	Args    []string `json:"args,omitempty"`  // without the program's name
	Env     []string `json:"env,omitempty"`   // added to the supervisor's environment, as NAME=value
	Unset   []string `json:"unset,omitempty"` // taken out of it
	Dir     string   `json:"dir,omitempty"`   // working directory; empty = the cluster's folder

	// Stamp is anything that changes with what the process reads only when it starts (its program, its files): Apply starts
	// a process with another stamp anew.
	Stamp string `json:"stamp,omitempty"`
	// After names processes of the same cluster that must be ready before this one starts; on the way down it ends before them.
	After []string `json:"after,omitempty"`
	// ReadyURL answers 200 once the process serves; empty = ready as soon as it runs.
	ReadyURL string `json:"readyURL,omitempty"`
	// ReadyCA is a file with the authority of an https ReadyURL; empty = any certificate will do.
	ReadyCA string `json:"readyCA,omitempty"`
	// ReadyCert and ReadyKey are files with the certificate that the client of ReadyURL shows, and its key; empty = none.
	ReadyCert string `json:"readyCert,omitempty"`
	ReadyKey  string `json:"readyKey,omitempty"`
}

// Key is how a process is named in messages: cluster/name.
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

// environ is the environment of the process: base without Unset, and Env last, where it wins.
func (p Process) environ(base []string) []string {
	var env []string
	for _, kv := range base {
		if name, _, _ := strings.Cut(kv, "="); !slices.Contains(p.Unset, name) {
			env = append(env, kv)
		}
	}
	return append(env, p.Env...)
}

// LogFile is where the output of a process goes.
func LogFile(dir, cluster, name string) string {
	return filepath.Join(dir, cluster, "logs", name+".log")
}

// Phase is where a process stands. The empty phase is a bug.
type Phase string

// The phases of a process.
const (
	PhaseWaiting  Phase = "Waiting"  // for the processes in After
	PhaseStarting Phase = "Starting" // it runs and does not answer yet
	PhaseReady    Phase = "Ready"    // it runs, and answers if it has a ReadyURL
	PhaseFailing  Phase = "Failing"  // it ended and will be started again
	PhaseStopped  Phase = "Stopped"  // with its cluster
)

// Status is what a supervisor tells about a process.
type Status struct {
	Cluster  string `json:"cluster"`
	Name     string `json:"name"`
	Phase    Phase  `json:"phase"`
	PID      int    `json:"pid,omitempty"`
	Restarts int    `json:"restarts,omitempty"` // since the supervisor started it first
	LastExit string `json:"lastExit,omitempty"` // in the words of the system
	Log      string `json:"log"`
}

// layers sorts processes by what they come after: each layer needs only earlier ones. A name in After that is not
// there, or a circle, is ignored here; such a process waits for ever and its status says so.
func layers(list []Process) [][]Process {
	depth := map[string]int{}
	for range list { // as often as the longest chain can be
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

// maxLog is how much of a process's output is kept, and as much again of what came before.
const maxLog = 10 << 20

// boundLog moves a log that has grown past limit aside. The process goes on writing to the same file (opened for
// appending), so its content is copied and the file emptied; what is written in between is lost.
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
