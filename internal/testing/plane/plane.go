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
)

// Plane is a sandbox that starts when the first test needs it.
type Plane struct {
	name    string
	members int
	prepare func(context.Context, *sandbox.Sandbox) error

	once    sync.Once
	sandbox *sandbox.Sandbox
	err     error
}

// New describes a Plane: its name, which no other package may use, the number of members beside the host, and a function to call once
// after the start, or nil.
func New(name string, members int, prepare func(context.Context, *sandbox.Sandbox) error) *Plane {
	return &Plane{name: name, members: members, prepare: prepare}
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

// Sandbox returns the running sandbox. With -short it skips the test.
func (p *Plane) Sandbox(t testing.TB) *sandbox.Sandbox {
	t.Helper()
	if testing.Short() {
		t.Skip("needs real control planes: run without -short")
	}
	p.once.Do(func() {
		ctx := context.Background() // the sandbox must outlive the first test
		p.sandbox, p.err = sandbox.Up(ctx, sandbox.Options{Name: p.name, Members: p.members, Bare: true}, progress.New(os.Stderr))
		if p.err == nil && p.prepare != nil {
			p.err = p.prepare(ctx, p.sandbox)
		}
	})
	if p.err != nil {
		t.Fatalf("bringing up sandbox %s: %v", p.name, p.err)
	}
	return p.sandbox
}
