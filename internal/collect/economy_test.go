// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// asked returns the requests about the test's objects and its Delivery since the last call of asked.
func (m *member) asked(requests *counter) []string {
	var asked []string
	for _, request := range requests.take() {
		if !strings.Contains(request, m.namespace) {
			continue
		}
		method, path, _ := strings.Cut(request, " ")
		path = strings.Replace(path, m.deliveryName(), "Delivery", 1)
		path = path[strings.LastIndex(strings.TrimSuffix(path, "/status"), "/")+1:]
		asked = append(asked, method+" "+path)
	}
	return asked
}

// The first request confirms the drift: it distinguishes a deletion from a lost label, and finds the writer and the
// fields. The second request writes the status, from which the host learns of the drift.
func TestADriftCostsOneReadAndOneWriteAndItsEndAnotherWrite(t *testing.T) {
	// applyAgain repairs a changed object. It does not write the Delivery, because after the repair our fields have the
	// digest that the Delivery records. Only the repair of an object that is gone also writes the Delivery.
	applyAgain := func(m *member) { m.push(configMapsGVR, m.configMap("settings", "blue")) }
	tests := map[string]struct {
		happens, repair func(*member)
		want            string
	}{
		"it is deleted": {
			happens: func(m *member) { m.remove(configMapsGVR, "settings") },
			want:    `ConfigMap settings Healthy/Drifted Gone by "" []`,
			repair: func(m *member) {
				pending := m.delivery().Spec.Inventory[0]
				pending.State, pending.UID, pending.Fields = v1alpha1.EntryPending, "", ""
				m.deliver("sha256:1", pending)
				m.deliver("sha256:1", m.push(configMapsGVR, m.configMap("settings", "blue")))
			},
		},
		"a field of ours is changed": {
			happens: func(m *member) { m.patch("kubectl-edit", configMapsGVR, "settings", `{"data":{"color":"red"}}`) },
			want:    `ConfigMap settings Healthy/Drifted Changed by "kubectl-edit" [.data.color]`,
			repair:  applyAgain,
		},
		"our label is taken off, which looks like a deletion": {
			happens: func(m *member) {
				m.patch("mallory", configMapsGVR, "settings", `{"metadata":{"labels":{"`+v1alpha1.LabelUID+`":null}}}`)
			},
			want:   `ConfigMap settings Healthy/Drifted Changed by "" []`,
			repair: applyAgain,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m, requests := newMember(t), &counter{}
			c := m.collect(func(o *Options) {
				o.Config = rest.CopyConfig(o.Config)
				o.Config.Wrap(requests.wrap)
			})
			m.deliver("sha256:1", m.push(configMapsGVR, m.configMap("settings", "blue")))
			waitUntilWatched(t, c, m, "settings")
			if asked := m.asked(requests); len(asked) > 0 {
				t.Errorf("nothing has changed, and the collector sent %q", asked)
			}

			test.happens(m)
			m.waitForStatus(5*time.Second, test.want)
			if diff := cmp.Diff([]string{"GET settings", "PATCH Delivery/status"}, m.asked(requests)); diff != "" {
				t.Errorf("requests to report the drift: %s", diff)
			}
			test.repair(m)
			m.waitForStatus(5 * time.Second)
			if diff := cmp.Diff([]string{"PATCH Delivery/status"}, m.asked(requests)); diff != "" {
				t.Errorf("requests to withdraw the report: %s", diff)
			}
		})
	}
}

// The collector writes a status once a second at most. If an object drifts in that second, the collector reads the
// object once, when it may write the status again, and not at every event.
func TestObjectsThatDriftTogetherAreReadOnceEach(t *testing.T) {
	m, requests := newMember(t), &counter{}
	c := m.collect(func(o *Options) {
		o.Config = rest.CopyConfig(o.Config)
		o.Config.Wrap(requests.wrap)
	})
	var entries []v1alpha1.InventoryEntry
	var reads, lines []string
	for i := range 20 {
		name := fmt.Sprintf("settings-%02d", i)
		entries = append(entries, m.push(configMapsGVR, m.configMap(name, "blue")))
		reads = append(reads, "GET "+name)
		lines = append(lines, fmt.Sprintf(`ConfigMap %s Healthy/Drifted Gone by "" []`, name))
	}
	m.deliver("sha256:1", entries...)
	waitUntilWatched(t, c, m, entries[19].Name)
	for i := range entries {
		m.remove(configMapsGVR, entries[i].Name)
	}
	m.waitForStatus(10*time.Second, lines...)
	asked := slices.DeleteFunc(m.asked(requests), func(r string) bool { return r == "PATCH Delivery/status" })
	slices.Sort(asked)
	if diff := cmp.Diff(reads, asked); diff != "" {
		t.Error(diff)
	}
}
