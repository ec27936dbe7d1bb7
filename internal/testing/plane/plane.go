// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/fairlead-dev/fairlead/internal/filelock"
	"github.com/fairlead-dev/fairlead/internal/sandbox"
	"github.com/fairlead-dev/fairlead/internal/sandbox/progress"
	"github.com/fairlead-dev/fairlead/internal/testing/audit"
)

// Plane is a sandbox that starts when the first test needs it.
type Plane struct {
	options sandbox.Options
	prepare func(context.Context, *sandbox.Sandbox) error

	once    sync.Once
	lock    *filelock.Lock // held until the process ends
	sandbox *sandbox.Sandbox
	err     error
}

// New makes a Plane. options are the options of its sandbox, which New makes bare. No other package may use the same
// name for its sandbox, because the tests of several packages can run at the same time. The Plane calls prepare once,
// after it has started the sandbox. prepare may be nil.
func New(options sandbox.Options, prepare func(context.Context, *sandbox.Sandbox) error) *Plane {
	options.Bare, options.MoreMemory = true, true
	return &Plane{options: options, prepare: prepare}
}

// Main runs the package's tests and then takes the sandbox down, unless the environment variable KEEP is set. It
// returns the exit code. Call it from TestMain:
//
//	func TestMain(m *testing.M) { os.Exit(plane.Main(m)) }
func (p *Plane) Main(m *testing.M) int { return Main(m, p) }

// Main is the method Main for a package with several planes.
func Main(m *testing.M, planes ...*Plane) int {
	sandbox.SuperviseIfAsked()
	code := m.Run()
	for _, p := range planes {
		if p.sandbox == nil || os.Getenv("KEEP") != "" {
			continue
		}
		if err := p.sandbox.Down(context.Background()); err != nil {
			_, _ = fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	return code
}

// Sandbox returns the running sandbox, and starts it at the first call. With -short it skips the test instead. If another
// run of the same tests on this machine uses the sandbox now, Sandbox waits until that run ends.
//
// An earlier run leaves its sandbox behind if its test binary was killed, or if KEEP was set. Sandbox takes that sandbox
// down before the start. Otherwise the tests would find objects and credentials of the earlier run.
func (p *Plane) Sandbox(t testing.TB) *sandbox.Sandbox {
	t.Helper()
	if testing.Short() {
		t.Skip("needs real control planes: run without -short")
	}
	p.once.Do(func() {
		ctx := context.Background() // the sandbox must outlive the first test
		if p.lock, p.err = acquire(ctx, p.options.Name); p.err != nil {
			return
		}
		if _, p.err = sandbox.Down(ctx, p.options.Name); p.err != nil {
			return
		}
		p.sandbox, p.err = sandbox.Up(ctx, p.options, progress.New(os.Stderr))
		if p.err == nil && p.prepare != nil {
			p.err = p.prepare(ctx, p.sandbox)
		}
	})
	if p.err != nil {
		t.Fatalf("bringing up sandbox %s: %v", p.options.Name, p.err)
	}
	return p.sandbox
}

// acquire makes this process the only one on the machine whose tests use the sandbox of this name. Otherwise a second run would take down
// the sandbox of the first.
func acquire(ctx context.Context, name string) (*filelock.Lock, error) {
	cache, err := sandbox.CacheDir()
	if err != nil {
		return nil, err
	}
	return filelock.Acquire(ctx, filepath.Join(cache, "locks", "tests-"+name), func() {
		_, _ = fmt.Fprintf(os.Stderr, "another run of these tests uses sandbox %s on this machine; waiting until it ends\n", name)
	})
}

// AuditMark returns a mark at the present end of a cluster's audit log. The sandbox option Audit must be set.
func (p *Plane) AuditMark(t testing.TB, cluster string) audit.Mark {
	t.Helper()
	spec, err := p.Sandbox(t).Cluster(cluster)
	if err != nil {
		t.Fatal(err)
	}
	mark, err := audit.Now(spec.AuditLog())
	if err != nil {
		t.Fatal(err)
	}
	return mark
}
