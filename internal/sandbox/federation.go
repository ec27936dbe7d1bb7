// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/config"
	"github.com/fairlead-dev/fairlead/internal/join"
	"github.com/fairlead-dev/fairlead/internal/join/steps"
	"github.com/fairlead-dev/fairlead/internal/sandbox/binaries"
	"github.com/fairlead-dev/fairlead/internal/sandbox/progress"
	"github.com/fairlead-dev/fairlead/internal/sandbox/supervisor"
)

const (
	// ManagerProcess is the name of the manager's process, which belongs to the host.
	ManagerProcess = "fairlead-manager"
	// ManagerMetricsPort is the key of the port (see Port) at which the manager serves its metrics.
	ManagerMetricsPort = "manager-metrics"
	// CollectorProcess is the name of a collector's process, which belongs to its member.
	CollectorProcess = "fairlead-collector"
)

// joinWithin bounds the time from a member's join until the member is Ready.
const joinWithin = time.Minute

// federate installs Fairlead on the host and joins the members, as `hostctl join` does. It gives the host the grant "any" and opens
// all namespaces, because nothing on these clusters is worth protecting.
func (s *Sandbox) federate(ctx context.Context, o Options, p *progress.Printer) error {
	step := p.Step("host: installing Fairlead")
	err := s.installHost(ctx, o)
	if err != nil {
		step.Fail(err)
		return fmt.Errorf("installing Fairlead on the host: %w", err)
	}
	step.Donef("host: Fairlead's kinds and webhooks are installed, the manager runs as a process")

	members := s.Members()
	errs := make([]error, len(members))
	var wait sync.WaitGroup
	for i, name := range members {
		wait.Go(func() {
			step := p.Step("%s: joining", name)
			if errs[i] = s.join(ctx, o, name, PlaceOf(i+1)); errs[i] != nil {
				step.Fail(errs[i])
				return
			}
			step.Donef("%s: joined with --allow any --namespaces All --collector External, its collector runs as a process", name)
		})
	}
	wait.Wait()
	return errors.Join(errs...)
}

// join joins a member, starts its collector, and waits until the member is Ready. It starts the collector after the join: before that, the collector's
// account does not exist.
func (s *Sandbox) join(ctx context.Context, o Options, name string, place Place) error {
	host, err := s.RESTConfig(HostName)
	if err != nil {
		return err
	}
	remote, err := s.RESTConfig(name)
	if err != nil {
		return err
	}
	options := join.Options{
		Name:            name,
		Allow:           []string{"any"},
		Namespaces:      v1alpha1.NamespacesAll,
		Labels:          place.labels(),
		DefaultHostName: s.Name,
		Collector:       v1alpha1.CollectorExternal,
	}
	if _, err := join.Join(ctx, host, remote, options, func(steps.Step) {}); err != nil {
		return err
	}
	if err := s.runCollector(ctx, o, name); err != nil {
		return err
	}
	options.Wait = joinWithin
	_, err = join.Join(ctx, host, remote, options, func(steps.Step) {})
	return err
}

// runCollector makes the supervisor run a member's collector as the account that the join created.
func (s *Sandbox) runCollector(ctx context.Context, o Options, name string) error {
	c, err := s.Cluster(name)
	if err != nil {
		return err
	}
	program, stamp, err := o.program("collector")
	if err != nil {
		return err
	}
	err = s.AddProcess(ctx, supervisor.Process{
		Cluster: name, Name: CollectorProcess, Path: program, Stamp: stamp,
		Args: []string{"--kubeconfig=" + c.CollectorKubeconfig(), "--cluster-name=" + name},
		Env:  small, Unset: []string{"KUBECONFIG"}, After: []string{binaries.APIServer},
	})
	if err != nil {
		return fmt.Errorf("running the collector of %s: %w", name, err)
	}
	return nil
}

// installHost installs Fairlead's CRDs, roles and webhooks on the host, and runs the manager.
func (s *Sandbox) installHost(ctx context.Context, o Options) error {
	rest, err := s.RESTConfig(HostName)
	if err != nil {
		return err
	}
	host, err := client.New(rest, client.Options{})
	if err != nil {
		return err
	}
	for _, folder := range []config.Folder{config.CRD, config.RBAC} {
		objects, err := config.Objects(folder)
		if err != nil {
			return err
		}
		for _, obj := range objects {
			if err := put(ctx, host, obj); err != nil {
				return err
			}
		}
	}
	port, err := s.runManager(ctx, o)
	if err != nil {
		return err
	}
	return s.registerWebhooks(ctx, host, port)
}

// runManager makes the supervisor run the manager as its own account, and waits until the manager serves. It returns the port of the webhooks.
func (s *Sandbox) runManager(ctx context.Context, o Options) (webhooks int, err error) {
	c, err := s.Cluster(HostName)
	if err != nil {
		return 0, err
	}
	program, stamp, err := o.program("manager")
	if err != nil {
		return 0, err
	}
	certDir := filepath.Join(c.Dir, "webhook")
	cert, key, _ := c.ServingPair()
	if err := copyPair(certDir, cert, key); err != nil {
		return 0, err
	}
	if webhooks, err = s.Port(ctx, HostName, "webhook"); err != nil {
		return 0, err
	}
	health, err := s.Port(ctx, HostName, "manager-health")
	if err != nil {
		return 0, err
	}
	metrics, err := s.Port(ctx, HostName, ManagerMetricsPort)
	if err != nil {
		return 0, err
	}
	healthAddress := "127.0.0.1:" + strconv.Itoa(health)
	err = s.AddProcess(ctx, supervisor.Process{
		Cluster: HostName, Name: ManagerProcess, Path: program, Stamp: stamp,
		Args: slices.Concat([]string{
			"--kubeconfig=" + c.ManagerKubeconfig(), "--metrics-address=127.0.0.1:" + strconv.Itoa(metrics), "--health-address=" + healthAddress,
			"--webhook-port=" + strconv.Itoa(webhooks), "--webhook-cert-dir=" + certDir,
			"--lock-file=" + filepath.Join(c.Dir, "manager.lock"),
		}, o.ManagerArgs),
		Env: append([]string{"GOGC=50"}, o.ManagerEnv...), Unset: []string{"KUBECONFIG"},
		After: []string{binaries.APIServer}, ReadyURL: "http://" + healthAddress + "/readyz",
	})
	if err != nil {
		return 0, err
	}
	return webhooks, s.WaitReady(ctx, HostName, ManagerProcess)
}

// registerWebhooks makes the host's API server call the webhooks at the manager's port.
func (s *Sandbox) registerWebhooks(ctx context.Context, host client.Client, port int) error {
	c, err := s.Cluster(HostName)
	if err != nil {
		return err
	}
	_, _, authority := c.ServingPair()
	ca, err := os.ReadFile(authority)
	if err != nil {
		return err
	}
	objects, err := config.Objects(config.Webhook)
	if err != nil {
		return err
	}
	for _, obj := range objects {
		if err := config.PointWebhooks(obj, "https://127.0.0.1:"+strconv.Itoa(port), ca); err != nil {
			return err
		}
		if err := put(ctx, host, obj); err != nil {
			return err
		}
	}
	return nil
}

// put applies an object. It repeats the request until the API server serves the kind, which takes a moment for a new CRD.
func put(ctx context.Context, host client.Client, obj *unstructured.Unstructured) error {
	for {
		err := host.Apply(ctx, client.ApplyConfigurationFromUnstructured(obj.DeepCopy()),
			client.ForceOwnership, client.FieldOwner("hostctl-sandbox"))
		if err == nil {
			return nil
		}
		if !apierrors.IsNotFound(err) && !apierrors.IsServiceUnavailable(err) {
			return fmt.Errorf("applying %s %s: %w", obj.GetKind(), obj.GetName(), err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("applying %s %s: %w", obj.GetKind(), obj.GetName(), context.Cause(ctx))
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// program returns the path and the stamp of one of Fairlead's programs. The program has to be in the folder Options.Programs, or by default in the folder of
// the running program.
func (o Options) program(name string) (path, stamp string, err error) {
	dir := o.Programs
	if dir == "" {
		self, err := os.Executable()
		if err != nil {
			return "", "", fmt.Errorf("finding the folder of this program: %w", err)
		}
		dir = filepath.Dir(self)
	}
	path = filepath.Join(dir, name)
	if stamp, err = stampOf(path); err != nil {
		return "", "", fmt.Errorf("there is no %s beside hostctl (%s): run `make build`, or use --bare for plain clusters", name, path)
	}
	return path, stamp, nil
}

// copyPair copies a certificate and its key into dir, under the file names that a webhook server reads.
func copyPair(dir, cert, key string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for to, from := range map[string]string{"tls.crt": cert, "tls.key": key} {
		content, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, to), content, 0o600); err != nil {
			return err
		}
	}
	return nil
}
