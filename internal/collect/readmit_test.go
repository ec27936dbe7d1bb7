// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/fairlead-dev/fairlead/internal/collect/boundedwatch"
)

// gate refuses requests for some resources, as a member does after an unjoin.
type gate struct {
	mu      sync.Mutex
	refused map[string]bool
	count   int // the lists that were refused since the last call of set
	watches []io.Closer
}

func (g *gate) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		g.mu.Lock()
		defer g.mu.Unlock()
		resource := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
		if g.refused[resource] {
			if r.URL.Query().Get("watch") == "" {
				g.count++
			}
			words := `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`
			return &http.Response{StatusCode: http.StatusForbidden, Header: http.Header{"Content-Type": {"application/json"}},
				Body: io.NopCloser(strings.NewReader(words)), Request: r}, nil
		}
		answer, err := next.RoundTrip(r)
		if err == nil && r.URL.Query().Get("watch") != "" && resource == deliveriesGVR.Resource {
			g.watches = append(g.watches, answer.Body)
		}
		return answer, err
	})
}

// set makes the gate refuse exactly these resources, and ends the watches of Deliveries.
func (g *gate) set(resources ...string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.refused, g.count = map[string]bool{}, 0
	for _, r := range resources {
		g.refused[r] = true
	}
	for _, w := range g.watches {
		_ = w.Close() // the reader of the watch gets the error
	}
	g.watches = nil
}

func TestRefusedWatchesTryAgainOnceTheMemberAcceptsTheCollector(t *testing.T) {
	m, g := newMember(t), &gate{}
	g.set(configMapsGVR.Resource)
	m.collectAs(func(c *Collector) { // without a kick, the watch of ConfigMaps would try again after an hour
		c.watchSet.Refusals = wait.Backoff{Duration: time.Hour}
	}, func(o *Options) { o.Config.Wrap(g.wrap) })
	m.deliver("sha256:1", m.push(configMapsGVR, m.configMap("settings", "blue")))
	m.waitForStatus(boundedwatch.ForbiddenDoubted+30*time.Second, "ConfigMap settings Waiting/NotGranted")

	g.set(configMapsGVR.Resource, deliveriesGVR.Resource)
	waitFor(t, time.Minute, func() string { // the watch tries again every boundedwatch.RetryFirst, and reports the refusal only after some tries
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.count > int(boundedwatch.ForbiddenDoubted/boundedwatch.RetryFirst)+1 {
			return ""
		}
		return fmt.Sprintf("refused %d times", g.count)
	})
	g.set()
	m.waitForStatus(30 * time.Second)
}

func TestARoleThatIsWrittenLateTakesEffectSoon(t *testing.T) {
	m, g := newMember(t), &gate{}
	g.set(configMapsGVR.Resource)
	m.collect(func(o *Options) { o.Config.Wrap(g.wrap) })
	m.deliver("sha256:1", m.push(configMapsGVR, m.configMap("settings", "blue")))
	m.waitForStatus(boundedwatch.ForbiddenDoubted+30*time.Second, "ConfigMap settings Waiting/NotGranted")
	g.set()
	m.waitForStatus(30 * time.Second)
}
