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

// Process describes a program that has to run for a cluster. It is in the record as JSON.
type Process struct {
	Cluster string   `json:"cluster"`         // the process stops and starts with this cluster, and its log is in the cluster's folder
	Name    string   `json:"name"`            // no other process of the cluster has it
	Path    string   `json:"path"`            // the path of the program
	Args    []string `json:"args,omitempty"`  // without the program's name
	Env     []string `json:"env,omitempty"`   // as NAME=value, added to the supervisor's environment
	Unset   []string `json:"unset,omitempty"` // variables of the supervisor that the process must not inherit
	Dir     string   `json:"dir,omitempty"`   // the working directory; "" means the cluster's folder

	// Stamp stands for the content of the program and of the files that the process reads only at its start. If Stamp has changed,
	// Apply restarts the process.
	Stamp string `json:"stamp,omitempty"`
	// After names processes of the same cluster. They have to be ready before this process starts, and end after this process when
	// the cluster stops.
	After []string `json:"after,omitempty"`
	// ReadyURL is a URL that answers 200 once the process serves. "" means that the process is ready as soon as it runs.
	ReadyURL string `json:"readyURL,omitempty"`
	// ReadyCA is a file with the certificate authority for an https ReadyURL. "" means that any certificate will do.
	ReadyCA string `json:"readyCA,omitempty"`
	// ReadyCert is a file with the client certificate for ReadyURL; "" means none.
	ReadyCert string `json:"readyCert,omitempty"`
	// ReadyKey is a file with the key of ReadyCert; "" means none.
	ReadyKey string `json:"readyKey,omitempty"`
}

// Key returns CLUSTER/NAME, which no other process of the sandbox has.
func (p Process) Key() string { return p.Cluster + "/" + p.Name }

func (p Process) check() error {
	switch {
	case p.Cluster == "" || p.Name == "":
		return errors.New("a process needs a cluster and a name")
	case strings.ContainsAny(p.Cluster+p.Name, "/\x00"), strings.HasPrefix(p.Name, "."), strings.HasPrefix(p.Cluster, "."):
		return fmt.Errorf("cluster %q and process %q: these names are file names, so they must not have a slash or a leading dot", p.Cluster, p.Name)
	case !filepath.IsAbs(p.Path):
		return fmt.Errorf("process %s: path %q must be absolute", p.Key(), p.Path)
	}
	return nil
}

func (p Process) equal(other Process) bool { return reflect.DeepEqual(p, other) }

// environ returns the environment of the process: base without the variables in Unset, and then Env. Of two values for a variable, the last one counts.
func (p Process) environ(base []string) []string {
	var env []string
	for _, kv := range base {
		if name, _, _ := strings.Cut(kv, "="); !slices.Contains(p.Unset, name) {
			env = append(env, kv)
		}
	}
	return append(env, p.Env...)
}

// LogFile returns the path of the file with a process's output.
func LogFile(dir, cluster, name string) string {
	return filepath.Join(dir, cluster, "logs", name+".log")
}

// Phase is the state of a process. The empty Phase never occurs.
type Phase string

// These are the phases of a process.
const (
	PhaseWaiting  Phase = "Waiting"  // it waits for the processes in After
	PhaseStarting Phase = "Starting" // it runs, but does not answer yet
	PhaseReady    Phase = "Ready"    // it runs, and answers at ReadyURL if it has one
	PhaseFailing  Phase = "Failing"  // it has ended, and the supervisor will start it again
	PhaseStopped  Phase = "Stopped"  // its cluster is stopped
)

// Status is the present state of a process.
type Status struct {
	Cluster  string `json:"cluster"`
	Name     string `json:"name"`
	Phase    Phase  `json:"phase"`
	PID      int    `json:"pid,omitempty"`
	Restarts int    `json:"restarts,omitempty"` // how often this supervisor has started the process again
	LastExit string `json:"lastExit,omitempty"` // for example "signal: killed" or "exit status 1"; "" if it has not ended yet
	Log      string `json:"log"`
}

// layers sorts processes by After: a process comes in a later layer than the processes that it needs. An unknown name or a cycle in
// After is no error here: such a process waits for ever, and its status shows that.
func layers(list []Process) [][]Process {
	depth := map[string]int{}
	for range list { // no chain of processes is longer than the list
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

// maxLog is the size in bytes at which a log is rotated. One rotated log is kept.
const maxLog = 10 << 20

// boundLog rotates a log that is larger than limit, in bytes. The process keeps its log open, so boundLog copies the content and then
// empties the file. Output between these two steps is lost.
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
