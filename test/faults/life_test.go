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

// end tells at which call a life ends, and how. A life with the zero end runs until kill.
type end struct {
	// at is the number of the call, from 1. At 0 the test cuts no call.
	at int
	// how is the verdict on this call. The verdicts lost, unanswered and late kill the program; the
	// verdict through does not.
	how proxyVerdict
	// since, if set, is part of a URL path. Counting begins at the first call whose path contains it.
	since string
	// meanwhile, if set, is called just before the proxy decides about the call with number at.
	meanwhile func()
}

// life is one run of a program, from its start to its death.
type life struct {
	agent string
	stop  context.CancelFunc
	// over is closed when the program has returned. died is closed when the program was killed at the call that the field end names,
	// and not by the method kill.
	over, died chan struct{}

	mu      sync.Mutex
	end     end
	counted []string // the calls since method count was called, as "METHOD PATH"
	dead    bool
	// late is the host of the API server to which the last request of this life is on its way, after the life's death; ""
	// if there is none.
	late string
	// overtaken is a host to which a late request of an earlier life is on its way. The proxy sends that request just
	// before this life's first write to the same host. "" if there is none.
	overtaken string
}

// program is the manager or a collector. begin builds it for a client configuration, and returns the function that runs it.
// version is the name of the life, which the user agent of every request has to contain.
type program struct {
	name  string
	begin func(ctx context.Context, config *rest.Config, version string) (run func(context.Context) error, err error)
}

var manager = managerBy(clock.RealClock{})

// managerBy returns the manager as a program that reads the time from clk.
func managerBy(clk clock.WithTicker) program { return managerWith(controllers.Options{Clock: clk}) }

// managerWith returns the manager as a program with these options, but with shared intents, and with the name of the life as its version.
func managerWith(o controllers.Options) program {
	o.SharesIntents = true
	return program{"fairlead-manager", func(ctx context.Context, config *rest.Config, version string) (func(context.Context) error, error) {
		o := o // each life has its own version
		o.Version = version
		again, never := true, time.Duration(0)
		mgr, err := controllers.NewManager(ctx, config, ctrl.Options{
			Metrics:                 metricsserver.Options{BindAddress: "0"},
			HealthProbeBindAddress:  "0",
			GracefulShutdownTimeout: &never,
			Controller:              ctrlconfig.Controller{SkipNameValidation: &again},
		}, o)
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

// born starts a program, and counts its calls from the start. The parameter e tells how its life ends.
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
	if err != nil && !l.isDead() { // the test may have killed the program at its first call; then begin fails
		t.Fatal(err)
	}
	go func() {
		defer close(l.over)
		if err == nil {
			_ = run(ctx) // a killed program returns an error, which the test expects
		}
	}()
	return l
}

// count drops the counted calls, starts to count again from 1, and sets a new end.
func (l *life) count(e end) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.end, l.counted = e, nil
}

// calls returns the calls since the last call of count, as "METHOD PATH".
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

// kill stops the program and waits until its run function has returned. A call after the life's end does no harm.
func (l *life) kill() {
	l.mu.Lock()
	l.dead = true
	l.mu.Unlock()
	l.stop()
	<-l.over
	present.Delete(l.agent)
}

// aManagerLives reports whether a manager runs that no test has killed.
func aManagerLives() (lives bool) {
	present.Range(func(agent, _ any) bool {
		name, isString := agent.(string)
		lives = lives || isString && strings.HasPrefix(name, manager.name+"/")
		return !lives
	})
	return lives
}

// present has the lives whose calls the proxies let through, by user agent.
var present sync.Map

// isOurs reports whether one of Fairlead's programs sent the request. The other requests are the test's own.
func isOurs(r *http.Request) bool { return strings.HasPrefix(r.UserAgent(), "fairlead-") }

// The function decide is the value of the field decide of all proxies. It asks the life that sent the request. A life that has ended is not in present, so its
// requests are lost.
func decide(r *http.Request) proxyVerdict {
	if !isOurs(r) {
		return through
	}
	name, rest, _ := strings.Cut(r.UserAgent(), "/")
	version, _, _ := strings.Cut(rest, "/") // some clients of a program append a slash and their purpose to the user agent
	version, _, _ = strings.Cut(version, " ")
	if l, ok := present.Load(name + "/" + version); ok {
		return l.(*life).decide(r) //nolint:forcetypeassert // present has only lives
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
		body, _ := io.ReadAll(r.Body) // read the body now: the dead program cannot send it later
		r.Body = io.NopCloser(bytes.NewReader(body))
		l.late = r.Host
	}
	if l.end.how != through {
		l.dead = true
		close(l.died)
	}
	return l.end.how
}

// comesByItself reports whether a program sends this request because of its clock or by chance. Such requests do not count as
// points.
func comesByItself(r *http.Request) bool {
	path := r.URL.Path
	return r.URL.Query().Get("watch") != "" || strings.Contains(path, "/memberships/") || !strings.Contains(path, "/v1")
}
