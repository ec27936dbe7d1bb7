// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/evidence"
	"github.com/fairlead-dev/fairlead/internal/collect/deliveryindex"
	"github.com/fairlead-dev/fairlead/internal/collect/objectcache"
)

// pretended is a collector of a member that exists only in the test. In each namespace a Deployment web is unhealthy, with one event.
type pretended struct {
	*Collector
	*testing.T
	clock *clocktesting.FakeClock
	// While breaksEvents is true, each read of events ends with an error. generation is the generation of the Deployments.
	breaksEvents bool
	generation   int
}

func pretend(t *testing.T) *pretended {
	t.Helper()
	m := &pretended{T: t, clock: clocktesting.NewFakeClock(time.Now()), generation: 2}
	c, err := New(Options{Config: &rest.Config{Host: "https://192.0.2.1"}, HTTPClient: &http.Client{Transport: roundTripper(m.answer)}, Clock: m.clock})
	if err != nil {
		t.Fatal(err)
	}
	m.Collector = c
	return m
}

func (m *pretended) answer(r *http.Request) (*http.Response, error) {
	code, text := http.StatusOK, `{"kind":"List","apiVersion":"v1","metadata":{},"items":[]}`
	switch {
	case r.Method == http.MethodPatch:
		code, text = http.StatusInternalServerError, `{"kind":"Status","apiVersion":"v1","status":"Failure","code":500,"message":"etcdserver: request timed out"}`
	case strings.HasSuffix(r.URL.Path, "/deployments/web"):
		text = fmt.Sprintf(`{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"web","namespace":"shop","uid":"u","generation":%d,"resourceVersion":"%d"},
			"spec":{"replicas":1},"status":{"conditions":[{"type":"Progressing","status":"False","reason":"ProgressDeadlineExceeded"}]}}`, m.generation, m.generation)
	case strings.HasSuffix(r.URL.Path, "/events") && m.breaksEvents:
		return nil, errors.New("the connection broke")
	case strings.HasSuffix(r.URL.Path, "/events"):
		text = `{"kind":"EventList","apiVersion":"v1","metadata":{},"items":[{"kind":"Event","apiVersion":"v1","metadata":{"name":"e"},
			"involvedObject":{"kind":"Deployment","name":"web"},"type":"Warning","reason":"NewFailure","message":"m","count":1,"lastTimestamp":"2026-01-01T10:00:00Z"}]}`
	}
	return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(text)), Request: r}, nil
}

// learn makes the collector learn a Delivery of the Deployment, which was unhealthy already.
func (m *pretended) learn(name string, known ...v1alpha1.ObjectEvidence) {
	d := &v1alpha1.Delivery{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Generation: 1, ResourceVersion: "1"}}
	d.Spec.Wrapper.Namespace = "shop"
	d.Spec.Target = &v1alpha1.DeliveryTarget{Rendering: "sha256:2"}
	d.Spec.Inventory = []v1alpha1.InventoryEntry{{Group: "apps", Kind: "Deployment", Resource: "deployments", Name: "web", State: v1alpha1.EntryApplied}}
	d.Status.ObservedRendering = "sha256:1"
	d.Status.Objects = []v1alpha1.ObjectStatus{{Group: "apps", Kind: "Deployment", Name: "web", Health: v1alpha1.Degraded, Reason: "R", SinceTime: metav1.NewTime(m.clock.Now().Add(-time.Hour))}}
	d.Status.Evidence = known
	m.deliveries.looks.index.Learn(d, m.clock.Now())
}

// judge judges the Deployment of a Delivery, as a pass does. It returns the pass before it publishes.
func (m *pretended) judge(name string) *pass {
	m.Helper()
	p, wait := m.observer.open(name)
	if p == nil {
		m.Fatalf("no pass for %s", wait)
	}
	e := &p.delivery.Spec.Inventory[0]
	ref := deliveryindex.RefOf(p.delivery, e)
	verdict, err := m.observer.health.verdict(m.Context(), p, e, ref, objectcache.Sighting{GVR: deploymentsGVR, Found: true, Record: objectcache.Record{ResourceVersion: fmt.Sprint(m.generation)}})
	if err != nil {
		m.observer.giveUp(p, e, ref, err)
		return p
	}
	p.addEvidence(e)
	p.addLine(m.clock.Now(), e, *verdict, nil)
	return p
}

// reasons returns the reasons of all events in the evidence of a pass.
func reasons(p *pass) (all []string) {
	for _, o := range p.evidence {
		for _, e := range o.Events {
			all = append(all, e.Reason)
		}
	}
	return all
}

func TestEvidenceStaysWhileANewGenerationCannotBeJudged(t *testing.T) {
	known := func(reason string) v1alpha1.Evidence {
		return v1alpha1.Evidence{Events: []v1alpha1.ObservedEvent{{Kind: "Deployment", Name: "web", Type: "Warning", Reason: reason, Message: "m", Count: 1}}}
	}
	m := pretend(t)
	m.learn("d", v1alpha1.ObjectEvidence{Group: "apps", Kind: "Deployment", Name: "web", Evidence: known("InStatus")})
	for _, want := range []string{"InStatus", "Gathered"} {
		m.breaksEvents = true
		if got := reasons(m.judge("d")); len(got) != 1 || got[0] != want {
			t.Errorf("the member does not answer: %q, want %s", got, want)
		}
		k, _ := m.deliveries.looks.index.Get("d")
		k.Memory.gathered[keyOf(&k.Delivery.Spec.Inventory[0])] = known("Gathered") // by an earlier pass, and not yet written
	}
	m.breaksEvents = false
	if got := reasons(m.judge("d")); len(got) != 1 || got[0] != "NewFailure" {
		t.Errorf("evidence of the earlier generation: %q", got)
	}
}

func TestEvidenceThatCannotBeWrittenIsBounded(t *testing.T) {
	m := pretend(t)
	withEvidence := func() (n int) {
		for _, name := range m.deliveries.looks.index.Names() {
			k, _ := m.deliveries.looks.index.Get(name)
			for _, e := range k.Memory.gathered {
				if !evidence.IsEmpty(&e) {
					n++
				}
			}
		}
		return n
	}
	publish := func(name string) {
		if err := m.observer.publisher.publish(context.Background(), m.judge(name)); err == nil {
			t.Fatal("the member takes writes")
		}
	}
	for i := range maxWithEvidence + 50 {
		m.learn(fmt.Sprint("d-", i))
		publish(fmt.Sprint("d-", i))
	}
	if n := withEvidence(); n != maxWithEvidence {
		t.Errorf("%d Deliveries have evidence in memory", n)
	}
	m.deliveries.looks.index.Forget("d-0")
	m.clock.Step(time.Hour)
	publish(fmt.Sprint("d-", maxWithEvidence+1))
	if n := withEvidence(); n != maxWithEvidence {
		t.Errorf("%d Deliveries have evidence after one has gone and another came", n)
	}
}

func TestWhatIsGatheredForOneDeliveryIsBounded(t *testing.T) {
	m := pretend(t)
	m.learn("d")
	p := m.judge("d")
	large := v1alpha1.Evidence{}
	for i := range 2 {
		large.Containers = append(large.Containers, v1alpha1.ObservedContainer{Pod: "p", Name: fmt.Sprint("c", i), State: "Waiting", Log: strings.Repeat("a line\n", 500)})
	}
	for i := range 40 { // as after many changes of the inventory
		e := v1alpha1.InventoryEntry{Group: "apps", Kind: "Deployment", Name: fmt.Sprint("web-", i)}
		p.memory.gathered[keyOf(&e)] = large
		if i < evidence.MaxObjects-1 {
			p.delivery.Spec.Inventory = append(p.delivery.Spec.Inventory, e)
			p.addEvidence(&e)
		}
	}
	if err := m.observer.publisher.publish(t.Context(), p); err == nil {
		t.Fatal("the member takes writes")
	}
	logs := 0
	for _, e := range p.memory.gathered {
		for _, c := range e.Containers {
			logs += len(c.Log)
		}
	}
	if len(p.memory.gathered) != evidence.MaxObjects || logs > evidence.MaxDelivery || logs < evidence.MaxDelivery/2 {
		t.Errorf("%d objects with %d bytes of logs", len(p.memory.gathered), logs)
	}
}
