// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/collect/objectcache"
)

func TestDriftIsMarkedUntilItIsRepaired(t *testing.T) {
	tests := map[string]struct {
		happens func(*member)
		want    string
	}{
		"another client writes a field of ours": {
			happens: func(m *member) { m.patch("kubectl-edit", configMapsGVR, "settings", `{"data":{"color":"red"}}`) },
			want:    `ConfigMap settings Healthy/Drifted Changed by "kubectl-edit" [.data.color]`,
		},
		"another client removes a field of ours": {
			happens: func(m *member) { m.patch("kubectl-edit", configMapsGVR, "settings", `{"data":{"color":null}}`) },
			want:    `ConfigMap settings Healthy/Drifted Changed by "" []`,
		},
		"another client takes our label off, so that the watch sends Deleted": {
			happens: func(m *member) {
				m.patch("mallory", configMapsGVR, "settings", `{"metadata":{"labels":{"`+v1alpha1.LabelUID+`":null}}}`)
			},
			want: `ConfigMap settings Healthy/Drifted Changed by "" []`,
		},
		"another client deletes it": {
			happens: func(m *member) { m.remove(configMapsGVR, "settings") },
			want:    `ConfigMap settings Healthy/Drifted Gone by "" []`,
		},
		"a backup is restored, with all labels": {
			happens: func(m *member) {
				m.remove(configMapsGVR, "settings")
				another := m.configMap("settings", "pink")
				another.SetLabels(map[string]string{v1alpha1.LabelUID: string(m.wrapperUID())})
				if _, err := m.client.Resource(configMapsGVR).Namespace(m.namespace).Create(m.t.Context(),
					another, metav1.CreateOptions{FieldManager: "kubectl-create"}); err != nil {
					m.t.Fatal(err)
				}
			},
			want: `ConfigMap settings Healthy/Drifted Replaced by "kubectl-create" []`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := newMember(t)
			c := m.collect()
			m.deliver("sha256:1", m.push(configMapsGVR, m.configMap("settings", "blue")))
			waitUntilWatched(t, c, m, "settings")

			test.happens(m)
			d := m.waitForStatus(5*time.Second, test.want)
			if got := d.Status.ObservedRendering; got != "sha256:1" {
				t.Errorf("observedRendering is %q", got)
			}

			m.deliver("sha256:1", m.push(configMapsGVR, m.configMap("settings", "blue")))
			d = m.waitForStatus(5 * time.Second)
			if diff := cmp.Diff(v1alpha1.DeliveryStatus{}, d.Status); diff != "" {
				t.Errorf("a repaired delivery still has a status: %s", diff)
			}
		})
	}
}

func TestOtherChangesAreNotReportedAsDrift(t *testing.T) {
	m := newMember(t)
	c := m.collect()
	m.deliver("sha256:1",
		m.push(configMapsGVR, m.configMap("settings", "blue")),
		m.push(configMapsGVR, m.configMap("held", "blue")),
		m.push(configMapsGVR, m.configMap("last", "blue")))
	waitUntilWatched(t, c, m, "last")

	m.patch("kubectl-label", configMapsGVR, "settings", `{"metadata":{"labels":{"team":"web"}},"data":{"extra":"1","color":"blue"}}`)
	m.patch("controller", configMapsGVR, "held", `{"metadata":{"finalizers":["example.com/hold"]}}`)
	m.remove(configMapsGVR, "held")
	m.patch("controller", configMapsGVR, "held", `{"data":{"color":"black"}}`) // the object is being deleted, so this is no drift
	// When the collector reports the last change, it has judged the earlier changes too.
	m.patch("kubectl-edit", configMapsGVR, "last", `{"data":{"color":"red"}}`)
	m.waitForStatus(5*time.Second, `ConfigMap last Healthy/Drifted Changed by "kubectl-edit" [.data.color]`)

	m.patch("controller", configMapsGVR, "held", `{"metadata":{"finalizers":null}}`)
	m.waitForStatus(5*time.Second,
		`ConfigMap held Healthy/Drifted Gone by "" []`,
		`ConfigMap last Healthy/Drifted Changed by "kubectl-edit" [.data.color]`)
}

// Every push writes the objects and the Delivery. The watches bring these writes in any order.
func TestQuickPushesAreNotReportedAsDrift(t *testing.T) {
	m := newMember(t)
	c := m.collect()
	entry := m.push(configMapsGVR, m.configMap("settings", "blue"))
	m.deliver("sha256:0", entry)
	waitUntilWatched(t, c, m, "settings")

	ctx, stop := context.WithCancel(t.Context())
	marks := make(chan string, 1)
	w, err := m.client.Resource(deliveriesGVR).Namespace(v1alpha1.SystemNamespace).Watch(ctx, metav1.ListOptions{
		FieldSelector: "metadata.name=" + m.deliveryName(),
	})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(marks)
		for event := range w.ResultChan() {
			if u, ok := event.Object.(*unstructured.Unstructured); ok && event.Type == watch.Modified {
				if d, err := toDelivery(u); err == nil && len(d.Status.Objects) > 0 {
					marks <- lineText(&d.Status.Objects[0])
					return
				}
			}
		}
	}()
	for i := range 200 {
		// The steps of a push by the host: intend, apply, record.
		pending := entry
		pending.State = v1alpha1.EntryPending
		m.deliver(fmt.Sprintf("sha256:%d", i), pending)
		cm := m.configMap("settings", fmt.Sprint(i))
		if i%3 == 0 {
			delete(cm.Object["data"].(map[string]any), "size")
		}
		entry = m.push(configMapsGVR, cm)
		m.deliver(fmt.Sprintf("sha256:%d", i), entry)
		m.push(configMapsGVR, cm) // a repair by the host: it does not write the Delivery
	}
	m.patch("kubectl-edit", configMapsGVR, "settings", `{"data":{"color":"red"}}`)
	want := `ConfigMap settings Healthy/Drifted Changed by "kubectl-edit" [.data.color]`
	m.waitForStatus(10*time.Second, want)
	if got := <-marks; got != want {
		t.Errorf("the first mark was %s", got)
	}
	stop()
}

func waitUntilWatched(t *testing.T, c *Collector, m *member, name string) {
	t.Helper()
	waitFor(t, 10*time.Second, func() string {
		s := c.objects.cache.See(m.refOf(name))
		if s.State != objectcache.Listed || !s.Found {
			return "the collector has not seen the object"
		}
		return ""
	})
}
