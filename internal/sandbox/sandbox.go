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

	"github.com/fairlead-dev/fairlead/internal/sandbox/cluster"
	"github.com/fairlead-dev/fairlead/internal/sandbox/filelock"
	"github.com/fairlead-dev/fairlead/internal/sandbox/supervisor"
)

// Sandbox is one that exists. Its methods are safe for several goroutines.
type Sandbox struct {
	Name  string
	cache string // of Fairlead
	dir   string // of this sandbox
	super *supervisor.Client

	mu    sync.Mutex
	state state
}

// Open finds a sandbox, running or not; a *NotFoundError names those that exist.
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

// Dir is the folder that holds everything of the sandbox, and goes with it.
func (s *Sandbox) Dir() string { return s.dir }

// Binaries is the folder with the programs of the control planes, kubectl among them.
func (s *Sandbox) Binaries() string { return filepath.Join(s.dir, "bin") }

// KubectlCache is where kubectl is to keep what it has learnt of the clusters, so that it goes with the sandbox: the
// value for KUBECACHEDIR.
func (s *Sandbox) KubectlCache() string { return filepath.Join(s.dir, "kubectl-cache") }

// Options are what the sandbox was made with.
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

// Members are its clusters but the host.
func (s *Sandbox) Members() []string {
	return slices.DeleteFunc(s.Clusters(), func(name string) bool { return name == HostName })
}

// Cluster is what is known about one of its clusters.
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

// Kubeconfig is the path of a cluster's kubeconfig; for "" that of one with all clusters as contexts, host the current.
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

// Port is a loopback port for a program of the user's choice: the same for the same cluster and key as long as the
// sandbox lives.
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

// AddProcess has the supervisor run p from now on, again after every end of it, of its cluster or of the supervisor.
// One that already runs unchanged is left alone.
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

// WaitReady waits until the named processes of a cluster answer; no names = all of them.
func (s *Sandbox) WaitReady(ctx context.Context, cluster string, names ...string) error {
	return s.super.WaitReady(ctx, cluster, names...)
}

// Processes tells about everything that the supervisor runs.
func (s *Sandbox) Processes(ctx context.Context) ([]supervisor.Status, error) {
	return s.super.Status(ctx)
}

// Stop ends a cluster's processes and keeps its state: an outage.
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

// Start brings a stopped cluster back and waits until it answers.
func (s *Sandbox) Start(ctx context.Context, name string) error {
	if _, err := s.Cluster(name); err != nil {
		return err
	}
	return s.locked(ctx, nil, func() error { return s.start(ctx, name) })
}

// start is Start for who holds the lock.
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

// Down ends every process and removes the folder, in whatever state they are. Afterwards the sandbox is no more.
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

// Down takes a sandbox down by name; one that is not there is none the worse. It works on one too broken to open.
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

// locked does work while no other command changes this sandbox; waiting is called if one does.
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

// Supervise supervises the sandbox of that name; what `hostctl sandbox supervise` does, and nobody types.
func Supervise(name string, log io.Writer) error {
	s, err := Open(name)
	if err != nil {
		return err
	}
	return supervisor.Run(s.dir, log)
}

// SuperviseIfAsked makes a program that brings up sandboxes its own supervisor: call it first in main or TestMain.
// When the program was started as one, it does not return. Such a program has no demo operator to run: Options.Programs
// says where hostctl is, which has.
func SuperviseIfAsked() {
	if len(os.Args) != 5 || !slices.Equal(os.Args[1:4], []string{"sandbox", "supervise", "--name"}) {
		return
	}
	if err := Supervise(os.Args[4], os.Stderr); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err) // a log that can't be written has no other place
		os.Exit(1)
	}
	os.Exit(0)
}
