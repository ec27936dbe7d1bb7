// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/fairlead-dev/fairlead/internal/sandbox"
	"github.com/fairlead-dev/fairlead/internal/sandbox/progress"
	"github.com/fairlead-dev/fairlead/internal/testing/audit"
)

// Plane is a sandbox that starts when the first test needs it.
type Plane struct {
	options sandbox.Options
	prepare func(context.Context, *sandbox.Sandbox) error

	once    sync.Once
	sandbox *sandbox.Sandbox
	err     error
}

// New describes a Plane by the options of its sandbox, which is always bare. No other package may use its name. prepare is called once
// after the start; it may be nil.
func New(options sandbox.Options, prepare func(context.Context, *sandbox.Sandbox) error) *Plane {
	options.Bare = true
	return &Plane{options: options, prepare: prepare}
}

// Main runs the package's tests and takes the sandbox down, unless KEEP is set. Call it from TestMain:
//
//	func TestMain(m *testing.M) { os.Exit(plane.Main(m)) }
func (p *Plane) Main(m *testing.M) int {
	sandbox.SuperviseIfAsked()
	code := m.Run()
	if p.sandbox != nil && os.Getenv("KEEP") == "" {
		if err := p.sandbox.Down(context.Background()); err != nil {
			_, _ = fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	return code
}

// Sandbox returns the running sandbox. With -short it skips the test. The first call takes down a sandbox that an
// earlier run has left, because its test binary was killed or KEEP was set. Otherwise the tests would find objects and
// credentials of that run.
func (p *Plane) Sandbox(t testing.TB) *sandbox.Sandbox {
	t.Helper()
	if testing.Short() {
		t.Skip("needs real control planes: run without -short")
	}
	p.once.Do(func() {
		ctx := context.Background() // the sandbox must outlive the first test
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

// AuditMark returns the present end of a cluster's audit log. The options must ask for audit logs.
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
