// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/fairlead-dev/fairlead/internal/filelock"
	"github.com/fairlead-dev/fairlead/internal/sandbox/cluster"
	"github.com/fairlead-dev/fairlead/internal/sandbox/supervisor"
)

// Sandbox is an existing sandbox. Its methods are safe for concurrent use.
//
// It has more methods than other types, because it is the API of the package: each operation of `hostctl sandbox` is one method with its
// steps. All of them need the same folder, lock and supervisor, so a split would only pass these three around.
type Sandbox struct {
	Name  string
	cache string // of Fairlead
	dir   string // of this sandbox
	super *supervisor.Client

	mu    sync.Mutex
	state state
}

// Open finds a sandbox, running or not. Its *NotFoundError names the existing sandboxes.
func Open(name string) (*Sandbox, error) {
	s, err := locate(name)
	if err != nil {
		return nil, err
	}
	s.state, err = readState(s.dir)
	if errors.Is(err, os.ErrNotExist) {
		existing, listErr := Names()
		existing = slices.DeleteFunc(existing, func(n string) bool { return n == name }) // a folder without a state
		return nil, errors.Join(&NotFoundError{Name: name, Existing: existing}, listErr)
	}
	return s, err
}

func locate(name string) (*Sandbox, error) {
	if err := (Options{Name: name}).Check(); err != nil {
		return nil, err
	}
	cache, err := CacheDir()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(cache, "sandboxes", name)
	return &Sandbox{Name: name, cache: cache, dir: dir, super: supervisor.NewClient(dir)}, nil
}

// Dir is the folder with everything of the sandbox. Down removes it.
func (s *Sandbox) Dir() string { return s.dir }

// Binaries is the folder with the programs of the control planes, kubectl among them.
func (s *Sandbox) Binaries() string { return filepath.Join(s.dir, "bin") }

// KubectlCache is the folder for kubectl's cache, the value for KUBECACHEDIR. Down removes it with the sandbox.
func (s *Sandbox) KubectlCache() string { return filepath.Join(s.dir, "kubectl-cache") }

// Options are the options that the sandbox was made with.
func (s *Sandbox) Options() Options {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.Options.options(s.Name)
}

// Clusters are the names of its clusters: host, member-1, …
func (s *Sandbox) Clusters() []string {
	var names []string
	for _, c := range s.specs() {
		names = append(names, c.Name)
	}
	return names
}

// Members are its clusters without the host.
func (s *Sandbox) Members() []string {
	return slices.DeleteFunc(s.Clusters(), func(name string) bool { return name == HostName })
}

// Cluster describes one of its clusters.
func (s *Sandbox) Cluster(name string) (cluster.Spec, error) {
	for _, c := range s.specs() {
		if c.Name == name {
			return c, nil
		}
	}
	return cluster.Spec{}, fmt.Errorf("no cluster %q in sandbox %s: it has %s", name, s.Name, strings.Join(s.Clusters(), ", "))
}

func (s *Sandbox) specs() []cluster.Spec {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.state.Clusters)
}

// Kubeconfig is the path of a cluster's kubeconfig. For "" it is the kubeconfig with a context for each cluster; host is the current one.
func (s *Sandbox) Kubeconfig(name string) (string, error) {
	if name == "" {
		return filepath.Join(s.dir, "kubeconfig"), nil
	}
	c, err := s.Cluster(name)
	return c.Kubeconfig(), err
}

// RESTConfig is the client configuration of a cluster's administrator.
func (s *Sandbox) RESTConfig(name string) (*rest.Config, error) {
	c, err := s.Cluster(name)
	if err != nil {
		return nil, err
	}
	return c.REST()
}

// Port is a free loopback port for any program. It stays the same for a cluster and key as long as the sandbox exists.
func (s *Sandbox) Port(ctx context.Context, name, key string) (int, error) {
	if _, err := s.Cluster(name); err != nil {
		return 0, err
	}
	var port int
	err := s.update(ctx, func(st *state) error {
		i := slices.IndexFunc(st.Clusters, func(c cluster.Spec) bool { return c.Name == name })
		if p, ok := st.Clusters[i].Ports[key]; ok {
			port = p
			return nil
		}
		taken, err := takenPorts(s.cache)
		if err != nil {
			return err
		}
		if port, err = freePort(taken); err != nil {
			return fmt.Errorf("choosing a port for %s of %s: %w", key, name, err)
		}
		st.Clusters[i].Ports[key] = port
		return nil
	})
	return port, err
}

// AddProcess makes the supervisor run p from now on. It restarts p when p ends, and when the cluster or the supervisor
// starts again. A process that already runs unchanged is left alone.
func (s *Sandbox) AddProcess(ctx context.Context, p supervisor.Process) error {
	if _, err := s.Cluster(p.Cluster); err != nil {
		return err
	}
	return s.super.Apply(ctx, p)
}

// RemoveProcess ends a process and forgets it.
func (s *Sandbox) RemoveProcess(ctx context.Context, cluster, name string) error {
	return s.super.Remove(ctx, cluster, name)
}

// WaitReady waits until the named processes of a cluster answer, or all of them without names.
func (s *Sandbox) WaitReady(ctx context.Context, cluster string, names ...string) error {
	return s.super.WaitReady(ctx, cluster, names...)
}

// Processes returns the status of all processes of the supervisor.
func (s *Sandbox) Processes(ctx context.Context) ([]supervisor.Status, error) {
	return s.super.Status(ctx)
}

// Stop ends a cluster's processes and keeps its state, to simulate an outage.
func (s *Sandbox) Stop(ctx context.Context, name string) error {
	if _, err := s.Cluster(name); err != nil {
		return err
	}
	return s.locked(ctx, nil, func() error {
		if err := s.super.Stop(ctx, name); err != nil {
			return fmt.Errorf("stopping %s: %w", name, err)
		}
		return nil
	})
}

// Start starts a stopped cluster again and waits until it answers.
func (s *Sandbox) Start(ctx context.Context, name string) error {
	if _, err := s.Cluster(name); err != nil {
		return err
	}
	return s.locked(ctx, nil, func() error { return s.start(ctx, name) })
}

// start is Start for a caller that holds the lock.
func (s *Sandbox) start(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, upWithin, fmt.Errorf("not up within %s", upWithin))
	defer cancel()
	if err := s.settleRestore(name); err != nil {
		return err
	}
	if err := s.super.Start(ctx, name); err != nil {
		return fmt.Errorf("starting %s: %w", name, err)
	}
	return s.super.WaitReady(ctx, name)
}

// Down ends every process and removes the folder, in whatever state they are. The sandbox does not exist afterwards.
func (s *Sandbox) Down(ctx context.Context) error {
	return s.locked(ctx, nil, func() error {
		if err := s.super.Down(ctx); err != nil {
			return fmt.Errorf("taking sandbox %s down: %w", s.Name, err)
		}
		if err := os.RemoveAll(s.dir); err != nil {
			return fmt.Errorf("taking sandbox %s down: %w", s.Name, err)
		}
		return nil
	})
}

// Down takes a sandbox down by name, also a sandbox too broken to open. It is no error if there is none of that name.
func Down(ctx context.Context, name string) (existed bool, err error) {
	s, err := locate(name)
	if err != nil {
		return false, err
	}
	if _, err := os.Stat(s.dir); errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return true, s.Down(ctx)
}

// locked calls work while no other command changes this sandbox. If it has to wait for another command, it calls waiting first.
func (s *Sandbox) locked(ctx context.Context, waiting func(), work func() error) error {
	lock, err := filelock.Acquire(ctx, filepath.Join(s.cache, "locks", "sandbox-"+s.Name), waiting)
	if err != nil {
		return err
	}
	return errors.Join(work(), lock.Release())
}

// writeKubeconfig joins the clusters' kubeconfigs into one.
func (s *Sandbox) writeKubeconfig() error {
	all := clientcmdapi.NewConfig()
	for _, c := range s.specs() {
		one, err := clientcmd.LoadFromFile(c.Kubeconfig())
		if err != nil {
			return fmt.Errorf("reading the kubeconfig of %s: %w", c.Name, err)
		}
		all.Clusters[c.Name] = one.Clusters[c.Name]
		all.AuthInfos[c.Name] = one.AuthInfos[c.Name]
		all.Contexts[c.Name] = one.Contexts[c.Name]
	}
	all.CurrentContext = HostName
	for _, c := range all.Clusters {
		c.LocationOfOrigin = ""
	}
	return cluster.WriteKubeconfig(filepath.Join(s.dir, "kubeconfig"), all)
}

// Supervise supervises the sandbox of that name. It is `hostctl sandbox supervise`, a command that Up starts and users do not.
func Supervise(name string, log io.Writer) error {
	s, err := Open(name)
	if err != nil {
		return err
	}
	return supervisor.Run(s.dir, log)
}

// SuperviseIfAsked lets a program that brings up sandboxes also be their supervisor. Call it first in main or TestMain. If
// the program was started as a supervisor, it does not return. Such a program does not contain the demo operator. So
// Options.Programs must name the folder with hostctl, which contains it.
func SuperviseIfAsked() {
	if len(os.Args) != 5 || !slices.Equal(os.Args[1:4], []string{"sandbox", "supervise", "--name"}) {
		return
	}
	if err := Supervise(os.Args[4], os.Stderr); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err) // there is nowhere else to write it
		os.Exit(1)
	}
	os.Exit(0)
}
