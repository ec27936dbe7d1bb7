// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/internal/sandbox"
	"github.com/fairlead-dev/fairlead/internal/testing/plane"
)

// shared is a host's API server, with the leases of all these tests.
var shared = plane.New(sandbox.Options{Name: "unit-lease"}, nil)

// The environment of a process that acts as a manager. The test program starts itself as such a process.
const (
	envKubeconfig = "LEASE_TEST_KUBECONFIG"
	envLease      = "LEASE_TEST_NAME"
	envLockFile   = "LEASE_TEST_LOCK_FILE" // "" means a manager without a proof
	envWrites     = "LEASE_TEST_WRITES"    // the file to which the process appends the time of each write
)

func TestMain(m *testing.M) {
	if os.Getenv(envKubeconfig) != "" {
		if err := manage(ctrl.SetupSignalHandler()); err != nil {
			_, _ = fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(shared.Main(m))
}

// manage acts as a manager: it runs an elector, and writes every 10 ms while the Guard allows it.
func manage(ctx context.Context) error {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv(envKubeconfig))
	if err != nil {
		return err
	}
	proof := Proof{}
	if path := os.Getenv(envLockFile); path != "" {
		if proof, err = OfLockFile(path); err != nil {
			return err
		}
	}
	options := ctrl.Options{LeaderElectionNamespace: "default", LeaderElectionID: os.Getenv(envLease)}
	guard, err := NewGuard(config, &options, Default(), proof, clock.RealClock{})
	if err != nil {
		return err
	}
	writes, err := os.OpenFile(os.Getenv(envWrites), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	go func() {
		for range time.Tick(10 * time.Millisecond) {
			if guard.Await(ctx) == nil {
				_, _ = fmt.Fprintln(writes, time.Now().UnixNano())
			}
		}
	}()
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: options.LeaderElectionResourceLockInterface, LeaseDuration: *options.LeaseDuration, RenewDeadline: *options.RenewDeadline,
		RetryPeriod: *options.RetryPeriod, ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: func(context.Context) {}, OnStoppedLeading: func() {}},
	})
	if err != nil {
		return err
	}
	elector.Run(ctx)
	return nil
}

// process is a running manager of these tests.
type process struct {
	*exec.Cmd
	writes string
}

func start(t *testing.T, lease, lockFile string) *process {
	t.Helper()
	host, err := shared.Sandbox(t).Cluster(sandbox.HostName)
	if err != nil {
		t.Fatal(err)
	}
	p := &process{exec.Command(os.Args[0]), filepath.Join(t.TempDir(), "writes")}
	p.Env = append(os.Environ(), envKubeconfig+"="+host.Kubeconfig(), envLease+"="+lease, envLockFile+"="+lockFile, envWrites+"="+p.writes)
	p.Stderr = os.Stderr
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Process.Kill(); _ = p.Wait() }) // the errors of a process that has already ended do not matter
	return p
}

// times returns the times of the process's writes.
func (p *process) times(t *testing.T) []time.Time {
	t.Helper()
	content, err := os.ReadFile(p.writes)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	var times []time.Time
	for _, line := range strings.Fields(string(content)) {
		nano, err := strconv.ParseInt(line, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		times = append(times, time.Unix(0, nano))
	}
	return times
}

// waitToWrite waits until the process writes, and returns the time of its first write.
func (p *process) waitToWrite(t *testing.T) time.Time {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); <-time.After(20 * time.Millisecond) {
		if times := p.times(t); len(times) > 0 {
			return times[0]
		}
	}
	t.Fatal("it does not write within a minute")
	return time.Time{}
}

// kill ends the process by SIGKILL, and returns the time at which it had ended.
func (p *process) kill(t *testing.T) time.Time {
	t.Helper()
	if err := p.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = p.Wait() // the error tells that the process was killed
	return time.Now()
}

// acquired returns the time when the present holder took the lease.
func acquired(t *testing.T, name string) time.Time {
	t.Helper()
	config, err := shared.Sandbox(t).RESTConfig(sandbox.HostName)
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	lease := &coordinationv1.Lease{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: name}, lease); err != nil {
		t.Fatal(err)
	}
	return lease.Spec.AcquireTime.Time
}

func TestAManagerTakesBackTheLeaseOfItsDeadPredecessor(t *testing.T) {
	shared.Sandbox(t)
	file := filepath.Join(t.TempDir(), "manager.lock")
	first := start(t, "taken-back", file)
	first.waitToWrite(t)
	killed := first.kill(t)
	second := start(t, "taken-back", file)
	began := second.waitToWrite(t)
	took := acquired(t, "taken-back")
	t.Logf("the lease was taken back %s after SIGKILL, the first write came %s after it", took.Sub(killed), began.Sub(killed))
	if pause := began.Sub(took); pause < Default().HoldOff {
		t.Errorf("it wrote %s after it had taken the lease back", pause)
	}
	if wait := began.Sub(killed); wait > Default().Duration {
		t.Errorf("it wrote %s after SIGKILL: it has waited until the lease expired", wait)
	}
}

// The two managers run on one machine under one host name. But they lock different files, so the second cannot prove that
// the first is dead.
func TestAManagerWithoutAProofWaitsUntilTheLeaseHasExpired(t *testing.T) {
	shared.Sandbox(t)
	first := start(t, "waited-for", filepath.Join(t.TempDir(), "manager.lock"))
	first.waitToWrite(t)
	killed := first.kill(t)
	began := start(t, "waited-for", filepath.Join(t.TempDir(), "manager.lock")).waitToWrite(t)
	t.Logf("the first write came %s after SIGKILL", began.Sub(killed))
	if wait := began.Sub(killed); wait < Default().Duration-Default().Renew-Default().Retry {
		t.Errorf("it wrote %s after SIGKILL", wait)
	}
}

// A leader is frozen, and continues in the middle of its writes long after another manager has taken the lease.
func TestTwoManagersNeverBothWrite(t *testing.T) {
	shared.Sandbox(t)
	first := start(t, "frozen", "")
	first.waitToWrite(t)
	if err := first.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	second := start(t, "frozen", "")
	began := second.waitToWrite(t)
	if err := first.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	for since := time.Now(); time.Since(since) < 2*time.Second; <-time.After(50 * time.Millisecond) {
		if times := second.times(t); time.Since(times[len(times)-1]) > 5*time.Second {
			t.Fatal("the new leader does not write")
		}
	}
	times := first.times(t)
	last := times[len(times)-1]
	t.Logf("the new leader began %s after the last write of the old one", began.Sub(last))
	if !last.Before(began) {
		t.Errorf("the old leader wrote at %s, the new one began at %s", last, began)
	}
}
