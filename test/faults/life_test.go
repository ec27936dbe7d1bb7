// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/fairlead-dev/fairlead/controllers"
	"github.com/fairlead-dev/fairlead/internal/collect"
)

// end is the point and the manner in which a life ends. A life with the zero value does not end.
type end struct {
	// at is the number of the call, from 1; 0 means that the life does not end.
	at int
	// how is lost, unanswered or late for a death, and through for a life that continues.
	how proxyVerdict
	// since, if set, is part of the path of the first call that is counted.
	since string
	// meanwhile is called just before that call is sent.
	meanwhile func()
}

// life is one run of a program, from its start to its death.
type life struct {
	agent string
	stop  context.CancelFunc
	// over is closed when the program has returned, and died when it was killed.
	over, died chan struct{}

	mu      sync.Mutex
	end     end
	counted []string // the calls since count
	dead    bool
	// late is the API server to which the last request of a dead life is still on its way; "" if there is none.
	late string
	// overtaken is the API server that gets the late request of an earlier life just before this life's first write to it.
	overtaken string
}

// program makes a program for a client configuration, and returns the function that runs it. version identifies the life.
type program struct {
	name  string
	begin func(ctx context.Context, config *rest.Config, version string) (run func(context.Context) error, err error)
}

var manager = managerBy(clock.RealClock{})

// managerBy returns the manager with a clock.
func managerBy(clk clock.WithTicker) program {
	return program{"fairlead-manager", func(ctx context.Context, config *rest.Config, version string) (func(context.Context) error, error) {
		again, never := true, time.Duration(0)
		mgr, err := controllers.NewManager(ctx, config, ctrl.Options{
			Metrics:                 metricsserver.Options{BindAddress: "0"},
			HealthProbeBindAddress:  "0",
			GracefulShutdownTimeout: &never,
			Controller:              ctrlconfig.Controller{SkipNameValidation: &again},
		}, controllers.Options{Version: version, Clock: clk})
		if err != nil {
			return nil, err
		}
		return mgr.Start, nil
	}}
}

var collector = program{"fairlead-collector", func(_ context.Context, config *rest.Config, version string) (func(context.Context) error, error) {
	c, err := collect.New(collect.Options{Config: config, Version: version})
	if err != nil {
		return nil, err
	}
	return c.Run, nil
}}

var lives atomic.Int64

// born starts a program with a client configuration and an end. It counts calls from the first on.
func born(t *testing.T, what program, config *rest.Config, e end) *life {
	t.Helper()
	version := fmt.Sprintf("life-%06d", lives.Add(1))
	l := &life{agent: what.name + "/" + version, end: e, over: make(chan struct{}), died: make(chan struct{})}
	config = rest.CopyConfig(config)
	config.UserAgent = l.agent
	present.Store(l.agent, l)
	ctx, stop := context.WithCancel(context.Background())
	l.stop = stop
	run, err := what.begin(ctx, config, version)
	if err != nil && !l.isDead() { // it may be killed at its first call
		t.Fatal(err)
	}
	go func() {
		defer close(l.over)
		if err == nil {
			_ = run(ctx) // the error of a killed program does not matter
		}
	}()
	return l
}

// count starts to count calls, and sets the end of the life.
func (l *life) count(e end) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.end, l.counted = e, nil
}

// calls returns the calls since count.
func (l *life) calls() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.counted
}

func (l *life) isDead() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dead
}

// kill ends the life, unless it has ended already, and waits until all its goroutines have returned.
func (l *life) kill() {
	l.mu.Lock()
	l.dead = true
	l.mu.Unlock()
	l.stop()
	<-l.over
	present.Delete(l.agent)
}

// present holds the lives whose calls may reach an API server, by user agent.
var present sync.Map

// isOurs reports whether one of Fairlead's programs sent a request, and not the test.
func isOurs(r *http.Request) bool { return strings.HasPrefix(r.UserAgent(), "fairlead-") }

// decide is the decide function of all proxies.
func decide(r *http.Request) proxyVerdict {
	if !isOurs(r) {
		return through
	}
	name, rest, _ := strings.Cut(r.UserAgent(), "/")
	version, _, _ := strings.Cut(rest, "/") // some clients append their purpose
	version, _, _ = strings.Cut(version, " ")
	if l, ok := present.Load(name + "/" + version); ok {
		return l.(*life).decide(r) //nolint:forcetypeassert // it holds only lives
	}
	return lost
}

func (l *life) decide(r *http.Request) proxyVerdict {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.dead:
		return lost
	case comesByItself(r):
		return through
	case l.end.since != "" && len(l.counted) == 0 && !strings.Contains(r.URL.Path, l.end.since):
		return through
	}
	if l.overtaken == r.Host && r.Method != http.MethodGet {
		l.overtaken = ""
		(<-heldBack)()
	}
	l.counted = append(l.counted, r.Method+" "+r.URL.Path)
	if l.end.at == 0 || len(l.counted) != l.end.at {
		return through
	}
	if l.end.meanwhile != nil {
		l.end.meanwhile()
	}
	if l.end.how == late {
		body, _ := io.ReadAll(r.Body) // the dead program cannot send it later
		r.Body = io.NopCloser(bytes.NewReader(body))
		l.late = r.Host
	}
	if l.end.how != through {
		l.dead = true
		close(l.died)
	}
	return l.end.how
}

// comesByItself reports whether a request depends on the clock or on chance, and not on the work.
func comesByItself(r *http.Request) bool {
	path := r.URL.Path
	return r.URL.Query().Get("watch") != "" || strings.Contains(path, "/memberships/") || !strings.Contains(path, "/v1")
}
