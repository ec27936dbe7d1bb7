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

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/fairlead-dev/fairlead/internal/filelock"
	"github.com/fairlead-dev/fairlead/internal/sandbox/cluster"
	"github.com/fairlead-dev/fairlead/internal/sandbox/supervisor"
)

// Sandbox is an existing sandbox, running or not. Its methods are safe for concurrent use.
//
// It has more methods than other types because it is the API of this package: each operation of `hostctl sandbox` is a method. All of
// them need the same folder, lock and supervisor, which several types would have to pass to each other.
type Sandbox struct {
	Name  string
	cache string // the folder of all sandboxes and builds
	dir   string // the folder of this sandbox
	super *supervisor.Client
	state *stateFile
}

// Open returns the sandbox with this name, whether or not it runs. If there is none, the error is a *NotFoundError with the existing names.
func Open(name string) (*Sandbox, error) {
	s, err := locate(name)
	if err != nil {
		return nil, err
	}
	err = s.state.load()
	if errors.Is(err, os.ErrNotExist) {
		existing, listErr := Names()
		existing = slices.DeleteFunc(existing, func(n string) bool { return n == name }) // its folder exists, but has no state
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
	return &Sandbox{Name: name, cache: cache, dir: dir, super: supervisor.NewClient(dir), state: &stateFile{cache: cache, dir: dir}}, nil
}

// Dir returns the folder with all files of the sandbox.
func (s *Sandbox) Dir() string { return s.dir }

// Binaries returns the folder with the programs of the control planes and kubectl.
func (s *Sandbox) Binaries() string { return filepath.Join(s.dir, "bin") }

// KubectlCache returns the folder for kubectl's cache, a value for KUBECACHEDIR. Down removes it with the sandbox.
func (s *Sandbox) KubectlCache() string { return filepath.Join(s.dir, "kubectl-cache") }

// Options returns the options of the sandbox, merged from every call of Up. It leaves out the options that concern
// only a single call.
func (s *Sandbox) Options() Options { return s.state.get().Options.options(s.Name) }

// Clusters returns the names of the clusters of the sandbox: host, member-1, …
func (s *Sandbox) Clusters() []string {
	var names []string
	for _, c := range s.specs() {
		names = append(names, c.Name)
	}
	return names
}

// Members returns the names of all clusters but the host.
func (s *Sandbox) Members() []string {
	return slices.DeleteFunc(s.Clusters(), func(name string) bool { return name == HostName })
}

// Cluster returns the description of a cluster of the sandbox.
func (s *Sandbox) Cluster(name string) (cluster.Spec, error) {
	for _, c := range s.specs() {
		if c.Name == name {
			return c, nil
		}
	}
	return cluster.Spec{}, fmt.Errorf("no cluster %q in sandbox %s: it has %s", name, s.Name, strings.Join(s.Clusters(), ", "))
}

func (s *Sandbox) specs() []cluster.Spec { return slices.Clone(s.state.get().Clusters) }

// Kubeconfig returns the path of a cluster's kubeconfig. For "" it returns the path of a kubeconfig with a context for each cluster. Its current context is the
// host's, until the user changes that.
func (s *Sandbox) Kubeconfig(name string) (string, error) {
	if name == "" {
		return filepath.Join(s.dir, "kubeconfig"), nil
	}
	c, err := s.Cluster(name)
	return c.Kubeconfig(), err
}

// RESTConfig returns a client configuration with an administrator's rights for a cluster.
func (s *Sandbox) RESTConfig(name string) (*rest.Config, error) {
	c, err := s.Cluster(name)
	if err != nil {
		return nil, err
	}
	return c.REST()
}

// Port reserves a loopback port for a program of the cluster with this name, and returns the port. key names the purpose of the port, for
// example "webhook". As long as the sandbox exists, Port returns the same port for the same cluster and key.
func (s *Sandbox) Port(ctx context.Context, name, key string) (int, error) {
	if _, err := s.Cluster(name); err != nil {
		return 0, err
	}
	var port int
	err := s.state.update(ctx, func(st *state) error {
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

// AddProcess makes the supervisor run p from now on: it starts p again when p ends, and when the cluster or the supervisor starts
// again. If p runs already and is unchanged, AddProcess does nothing.
func (s *Sandbox) AddProcess(ctx context.Context, p supervisor.Process) error {
	if _, err := s.Cluster(p.Cluster); err != nil {
		return err
	}
	return s.super.Apply(ctx, p)
}

// RemoveProcess ends a process. The supervisor never starts it again.
func (s *Sandbox) RemoveProcess(ctx context.Context, cluster, name string) error {
	return s.super.Remove(ctx, cluster, name)
}

// WaitReady waits until the named processes of a cluster are ready. Without names it waits for all processes of the cluster.
func (s *Sandbox) WaitReady(ctx context.Context, cluster string, names ...string) error {
	return s.super.WaitReady(ctx, cluster, names...)
}

// Processes returns the status of all processes of all clusters.
func (s *Sandbox) Processes(ctx context.Context) ([]supervisor.Status, error) {
	return s.super.Status(ctx)
}

// Stop ends the processes of a cluster and keeps its state, as in an outage.
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

// Start starts a stopped cluster again, and waits until it is ready.
func (s *Sandbox) Start(ctx context.Context, name string) error {
	if _, err := s.Cluster(name); err != nil {
		return err
	}
	return s.locked(ctx, nil, func() error { return s.start(ctx, name) })
}

// start does the work of Start. The caller has to hold the lock of the sandbox.
func (s *Sandbox) start(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, upWithin, fmt.Errorf("not up within %s", upWithin))
	defer cancel()
	c, err := s.Cluster(name)
	if err != nil {
		return err
	}
	if err := settleRestore(c); err != nil {
		return err
	}
	if err := s.super.Start(ctx, name); err != nil {
		return fmt.Errorf("starting %s: %w", name, err)
	}
	return s.super.WaitReady(ctx, name)
}

// Down ends every process of the sandbox and removes its folder. It works for an incomplete or broken sandbox, too.
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

// Down takes down the sandbox with this name, also if it is too broken for Open. If there was none, existed is false and err is nil.
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

// locked calls the function work while no other command can change this sandbox. If another command is changing it, locked first calls
// the function waiting, and then waits for that command.
func (s *Sandbox) locked(ctx context.Context, waiting func(), work func() error) error {
	lock, err := filelock.Acquire(ctx, filepath.Join(s.cache, "locks", "sandbox-"+s.Name), waiting)
	if err != nil {
		return err
	}
	return errors.Join(work(), lock.Release())
}

// writeKubeconfig writes the kubeconfig with a context for each cluster.
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

// Supervise runs the supervisor of the sandbox with this name in this process. The command `hostctl sandbox supervise` calls it. Up starts
// that command; users do not.
func Supervise(name string, log io.Writer) error {
	s, err := Open(name)
	if err != nil {
		return err
	}
	return supervisor.Run(s.dir, log)
}

// SuperviseIfAsked lets a program that calls Up be the supervisor, too. Call it first in main or TestMain: in a process that was
// started as the supervisor, it does not return. Such a program does not contain the demo operator, so Options.Programs has to name a
// folder with hostctl.
func SuperviseIfAsked() {
	if len(os.Args) != 5 || !slices.Equal(os.Args[1:4], []string{"sandbox", "supervise", "--name"}) {
		return
	}
	if err := Supervise(os.Args[4], os.Stderr); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err) // an error here does not matter: the process exits next
		os.Exit(1)
	}
	os.Exit(0)
}
