// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/collect/objectcache"
)

var secretsGVR = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}

// request writes these requests into the Delivery, as the host does.
func (m *member) request(requests ...v1alpha1.EvidenceRequest) {
	m.t.Helper()
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"requests": requests}})
	if err != nil {
		m.t.Fatal(err)
	}
	if _, err := m.client.Resource(deliveriesGVR).Namespace(v1alpha1.SystemNamespace).Patch(m.t.Context(), m.deliveryName(), types.MergePatchType, patch,
		metav1.PatchOptions{FieldManager: "host"}); err != nil {
		m.t.Fatal(err)
	}
}

func requestFor(what v1alpha1.EvidenceType, group, kind, name string, expires time.Time) v1alpha1.EvidenceRequest {
	return v1alpha1.EvidenceRequest{Group: group, Kind: kind, Name: name, Type: what, Expires: metav1.NewTime(expires.UTC().Truncate(time.Second))}
}

// healthy makes a healthy Deployment with one pod that runs, and the Delivery that lists it together with a ConfigMap and a Secret. The
// collector then makes a pass.
func (u *unwatched) healthy(node string) {
	m := u.m
	m.t.Helper()
	secret := m.push(secretsGVR, object("v1", "Secret", m.namespace, "web"))
	m.deliver("sha256:1", m.push(deploymentsGVR, m.workload("Deployment", "web")), m.push(configMapsGVR, m.configMap("settings", "black")), secret)
	u.watchBringsDelivery()
	m.patch("kcm", deploymentsGVR, "web", `{"metadata":{"annotations":{"deployment.kubernetes.io/revision":"1"}}}`)
	m.patch("kcm", deploymentsGVR, "web", `{"status":{"observedGeneration":2,"replicas":1,"updatedReplicas":1,"readyReplicas":1,"availableReplicas":1,"conditions":[
		{"type":"Progressing","status":"True","reason":"NewReplicaSetAvailable"},{"type":"Available","status":"True"}]}}`, "status")
	deployment := u.watchesDeployment("web")
	m.pod("web-1-x", node, m.replicaSet("web-1", "1", deployment))
	m.patch("kubelet", podsGVR, "web-1-x", `{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}],"containerStatuses":[{"name":"app","image":"web:1","imageID":"x","ready":true,
		"restartCount":0,"state":{"running":{"startedAt":"2026-01-01T00:00:00Z"}},"lastState":{}}]}}`, "status")
	u.watchesConfigMaps("settings")
	u.mustLook(0)
	if status := m.delivery().Status; len(status.Objects)+len(status.Evidence)+len(status.Answers) > 0 {
		m.t.Fatalf("the objects are not healthy: %+v", status)
	}
}

// watchesConfigMaps passes the ConfigMap to the Collector as an event of the watch. It first puts the resource back into the cache,
// because watchesDeployment removes all resources but deployments.
func (u *unwatched) watchesConfigMaps(name string) {
	u.m.t.Helper()
	gr := configMapsGVR.GroupResource()
	for _, r := range u.objects.cache.Keep([]schema.GroupResource{gr, deploymentsGVR.GroupResource()}) {
		if r.GroupResource == gr {
			r.SetVersion(configMapsGVR)
			r.Replace(map[types.NamespacedName]objectcache.Record{}, "1")
		}
	}
	u.watchBrings(name)
}

func TestARequestForLogsOfAHealthyObjectIsAnswered(t *testing.T) {
	m := newMember(t)
	node := "node-" + m.namespace
	reads := m.kubelet(node, "\x1b[32mready\x1b[0m\nlogged in with password=CANARY-hunter2-x7Jq9\n")
	u := m.unwatched()
	u.healthy(node)
	if len(reads.paths) > 0 {
		t.Errorf("without a request the collector read %q", reads.paths)
	}

	request := requestFor(v1alpha1.EvidenceLogs, "apps", "Deployment", "web", time.Now().Add(time.Hour))
	request.SinceSeconds = 60
	m.request(request)
	u.watchBringsDelivery()
	asked := u.mustLook(2 * time.Second)
	want := []v1alpha1.EvidenceAnswer{{Request: request, Evidence: v1alpha1.Evidence{Containers: []v1alpha1.ObservedContainer{
		{Pod: "web-1-x", Name: "app", State: "Running", Log: "ready\nlogged in with password=[redacted]"}}}}}
	got := m.delivery().Status
	for i := range got.Answers {
		got.Answers[i].Request.Expires.Time = got.Answers[i].Request.Expires.UTC()
	}
	if diff := cmp.Diff(want, got.Answers); diff != "" {
		t.Errorf("%s\nafter %q", diff, asked)
	}
	if len(got.Objects)+len(got.Evidence) > 0 {
		t.Errorf("a request makes the object look ill: %+v", got)
	}
	if len(reads.queries) != 1 || !strings.Contains(reads.queries[0], "sinceSeconds=60") {
		t.Errorf("the kubelet got %q", reads.queries)
	}

	// The collector reads the log again every five seconds. It writes the answer only if the log has changed.
	u.watchBringsDelivery()
	if asked := u.mustLook(2 * time.Second); len(asked) > 0 || len(reads.paths) != 1 {
		t.Errorf("two seconds later: %q, %q", asked, reads.paths)
	}
	if asked := u.mustLook(answerEvery); slices.Contains(asked, patchOfStatus) || len(reads.paths) != 2 {
		t.Errorf("five seconds later, with an equal log: %q, %q", asked, reads.paths)
	}

	// A collector that has just started takes the answer from the status. It reads the log at once.
	again := m.unwatched()
	again.watchBringsDelivery()
	again.watchesDeployment("web")
	if asked := again.mustLook(0); slices.Contains(asked, patchOfStatus) || len(reads.paths) != 3 {
		t.Errorf("after a restart: %q, %q", asked, reads.paths)
	}

	m.request()
	u.watchBringsDelivery()
	u.watchesDeployment("web")
	if asked := u.mustLook(2 * time.Second); !slices.Contains(asked, patchOfStatus) {
		t.Errorf("without the request: %q", asked)
	}
	if got := m.delivery().Status; len(got.Answers) > 0 || len(reads.paths) != 3 {
		t.Errorf("the request is gone: %+v, %q", got, reads.paths)
	}
	u.watchBringsDelivery()
	if asked := u.mustLook(time.Minute); len(asked) > 0 {
		t.Errorf("a healthy object costs %q", asked)
	}
}

func TestARequestIsAnsweredUntilItExpiresAndForAnHourAtMost(t *testing.T) {
	m := newMember(t)
	node := "node-" + m.namespace
	reads := m.kubelet(node, "ready\n")
	u := m.unwatched()
	u.healthy(node)
	m.request(requestFor(v1alpha1.EvidenceLogs, "apps", "Deployment", "web", time.Now().Add(-time.Second)))
	u.watchBringsDelivery()
	if asked := u.mustLook(2 * time.Second); len(asked) > 0 || len(reads.paths) > 0 {
		t.Errorf("a request that has expired costs %q", asked)
	}
	m.request(requestFor(v1alpha1.EvidenceLogs, "apps", "Deployment", "web", time.Now().Add(24*time.Hour))) // by a host with another clock
	u.watchBringsDelivery()
	u.mustLook(2 * time.Second)
	u.watchBringsDelivery()
	if got := m.delivery().Status.Answers; len(got) != 1 {
		t.Fatalf("%+v", got)
	}
	u.mustLook(59 * time.Minute)
	if len(reads.paths) != 2 {
		t.Errorf("within the hour: %q", reads.paths)
	}
	u.mustLook(2 * time.Minute)
	if got := m.delivery().Status.Answers; len(got) > 0 || len(reads.paths) != 2 {
		t.Errorf("after an hour: %+v, %q", got, reads.paths)
	}
	u.watchBringsDelivery()
	u.mustLook(time.Minute)
	if got := m.delivery().Status.Answers; len(got) > 0 || len(reads.paths) != 2 {
		t.Errorf("it begins again: %+v, %q", got, reads.paths)
	}
}

func TestWhatRequestsAreAnsweredWith(t *testing.T) {
	m := newMember(t)
	node := "node-" + m.namespace
	m.kubelet(node, "ready\n")
	u := m.unwatched()
	u.healthy(node)
	pod, err := m.client.Resource(podsGVR).Namespace(m.namespace).Get(t.Context(), "web-1-x", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	m.warn(pod, "Unhealthy", "Readiness probe failed, token=CANARY-ghp_hunter2")
	settings, err := m.client.Resource(configMapsGVR).Namespace(m.namespace).Get(t.Context(), "settings", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	m.warn(settings, "Odd", "a ConfigMap with an event")
	// The host pushed this object, but no Delivery lists it.
	m.push(configMapsGVR, m.configMap("stranger", "black"))

	end := time.Now().Add(time.Hour)
	for name, test := range map[string]struct {
		is   v1alpha1.EvidenceRequest
		want string
	}{
		"events of a pod": {requestFor(v1alpha1.EvidenceEvents, "apps", "Deployment", "web", end), "Pod web-1-x Unhealthy: Readiness probe failed, token=[redacted]"},
		"events of an object without pods": {requestFor(v1alpha1.EvidenceEvents, "", "ConfigMap", "settings", end),
			"ConfigMap settings Odd: a ConfigMap with an event"},
		"logs of an object without pods": {requestFor(v1alpha1.EvidenceLogs, "", "ConfigMap", "settings", end), "an object of kind ConfigMap has no pods, so it has no logs: ask for its events"},
		"a Secret":                       {requestFor(v1alpha1.EvidenceEvents, "", "Secret", "web", end), "collectors read no Secrets"},
		"an object that the Delivery does not list": {requestFor(v1alpha1.EvidenceEvents, "", "ConfigMap", "stranger", end),
			"the Delivery does not list ConfigMap stranger as applied"},
	} {
		m.request(test.is)
		u.watchBringsDelivery()
		asked := u.mustLook(6 * time.Second)
		answers, got := m.delivery().Status.Answers, ""
		if len(answers) != 1 {
			t.Errorf("%s: %d answers", name, len(answers))
			continue
		}
		for _, e := range answers[0].Events {
			got += fmt.Sprintf("%s %s %s: %s", e.Kind, e.Name, e.Reason, e.Message)
		}
		if got += answers[0].Message; got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
		for _, request := range asked {
			if strings.HasPrefix(request, "GET settings") || strings.HasPrefix(request, "GET stranger") || strings.Contains(strings.ToLower(request), "secret") {
				t.Errorf("%s: the collector sent %q", name, asked)
			}
		}
	}
}
