// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
)

// shifted is the real clock, shifted by a fixed time.
type shifted struct {
	clock.RealClock
	by time.Duration
}

// Now implements clock.PassiveClock.
func (s shifted) Now() time.Time { return s.RealClock.Now().Add(s.by) }

// Since implements clock.PassiveClock.
func (s shifted) Since(t time.Time) time.Duration { return s.Now().Sub(t) }

// The times in an object are by the member's clock. A collector that compared them with its own, wrong clock would call
// an object healthy at once, or an hour too late.
func TestACollectorWithAWrongClockJudgesByTheMembersClock(t *testing.T) {
	for name, by := range map[string]time.Duration{"an hour ahead": time.Hour, "an hour behind": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			m := newMember(t)
			gvr := m.serveGreetings()
			c := m.collect(func(o *Options) { o.Clock = shifted{by: by} })
			hello := object(gvr.GroupVersion().String(), "Greeting", m.namespace, "hello")
			hello.Object["spec"] = map[string]any{"text": "hi"}
			m.deliver("sha256:1", m.push(gvr, hello))
			m.waitForStatus(10*time.Second, "Greeting hello Progressing/Settling")
			if off := time.Until(c.observer.health.client.Now()); off.Abs() > 3*time.Second {
				t.Errorf("the time by which the collector judges is off by %s", off)
			}
			m.patch("controller", gvr, "hello", `{"status":{"conditions":[{"type":"Ready","status":"True"}],"observedGeneration":2}}`)
			m.waitForStatus(10 * time.Second)
		})
	}
}

// serveGreetings makes the API server serve a new kind for this test.
func (m *member) serveGreetings() schema.GroupVersionResource {
	m.t.Helper()
	gvr := schema.GroupVersionResource{Group: m.namespace + ".example.com", Version: "v1", Resource: "greetings"}
	crd := object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", gvr.GroupResource().String())
	crd.Object["spec"] = map[string]any{
		"group": gvr.Group, "scope": "Namespaced", "names": map[string]any{"plural": "greetings", "singular": "greeting", "kind": "Greeting"},
		"versions": []any{map[string]any{
			"name": gvr.Version, "served": true, "storage": true,
			"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
		}},
	}
	if _, err := m.client.Resource(crdsGVR).Create(m.t.Context(), crd, metav1.CreateOptions{}); err != nil {
		m.t.Fatal(err)
	}
	waitFor(m.t, 10*time.Second, func() string {
		if _, err := m.client.Resource(gvr).List(m.t.Context(), metav1.ListOptions{}); err != nil {
			return err.Error()
		}
		return ""
	})
	return gvr
}
