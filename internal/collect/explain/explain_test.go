// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/health"
	"github.com/fairlead-dev/fairlead/internal/collect/memberclient"
	"github.com/fairlead-dev/fairlead/internal/inflight"
)

// fakeMember answers requests by their paths; an event list by "events " and the uid. A path without an answer does not exist.
type fakeMember struct {
	mu      sync.Mutex
	answers map[string]string
	refused map[string]int
	asked   []string
}

func (m *fakeMember) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	selector := r.URL.Query().Get("fieldSelector")
	switch uid, isOf := strings.CutPrefix(selector, "involvedObject.uid="); {
	case strings.Contains(selector, "type=Warning"): // the selector's terms come in any order
		key = "warnings"
	case isOf:
		key = "events " + uid
	case strings.Contains(selector, "involvedObject.kind=PersistentVolumeClaim"):
		_, name, _ := strings.Cut(selector, "involvedObject.name=")
		name, _, _ = strings.Cut(name, ",")
		key = "events of claim " + name
	case key == "log":
		key = strings.TrimPrefix(r.URL.Path, "/api/v1/namespaces/shop/pods/") + " " + r.URL.Query().Get("container") + " " + r.URL.Query().Get("previous")
	}
	m.asked = append(m.asked, key)
	w.Header().Set("Content-Type", "application/json")
	if code := m.refused[key]; code > 0 {
		w.WriteHeader(code)
		_, _ = fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d}`, map[int]string{http.StatusForbidden: "Forbidden"}[code], code)
		return
	}
	answer, ok := m.answers[key]
	if !ok {
		answer = `{"items":[]}`
	}
	_, _ = w.Write([]byte(answer)) // the client reports an error
}

func (m *fakeMember) reader(t *testing.T) *Reader {
	t.Helper()
	server := httptest.NewServer(m)
	t.Cleanup(server.Close)
	clk := clock.RealClock{}
	client, err := memberclient.New(&rest.Config{Host: server.URL}, nil, nil, clk, inflight.New(clk, 0))
	if err != nil {
		t.Fatal(err)
	}
	return New(client)
}

func deployment() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"namespace": "shop", "name": "web", "uid": "uid-web"},
		"spec":     map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"app": "web"}}},
	}}
}

const (
	replicaSets = `{"items":[{"metadata":{"name":"web-1","uid":"uid-set","ownerReferences":[{"uid":"uid-web","controller":true}]}}]}`
	crashing    = `{"name":"app","restartCount":2,"state":{"terminated":{"exitCode":1,"reason":"Error","containerID":"y"}},"lastState":{"terminated":{"exitCode":1,"containerID":"x"}}}`
)

func pod(name, status string) string {
	return fmt.Sprintf(`{"metadata":{"namespace":"shop","name":%q,"uid":"uid-%s","creationTimestamp":"2026-01-01T10:00:00Z",
		"ownerReferences":[{"uid":"uid-set","controller":true}]},"status":{"containerStatuses":[%s]}}`, name, name, status)
}

func event(kind, name, reason string) string {
	return fmt.Sprintf(`{"items":[{"involvedObject":{"kind":%q,"name":%q},"type":"Warning","reason":%q,"message":"with password=CANARY-hunter2","lastTimestamp":"2026-01-01T10:00:00Z"}]}`, kind, name, reason)
}

func TestTheEvidenceOfADeployment(t *testing.T) {
	m := &fakeMember{answers: map[string]string{
		"replicasets": replicaSets, "pods": `{"items":[` + pod("web-1-a", crashing) + `,` + pod("web-1-b", `{"name":"app","state":{"waiting":{"reason":"ImagePullBackOff"}}}`) + `]}`,
		"web-1-a/log app false": "starting\npanic: password=CANARY-hunter2\n", "web-1-a/log app true": "an earlier panic\n",
		"events uid-web": event("Deployment", "web", "ScalingReplicaSet"), "events uid-set": event("ReplicaSet", "web-1", "FailedCreate"), "events uid-web-1-a": event("Pod", "web-1-a", "BackOff"),
	}}
	found, err := m.reader(t).Explain(t.Context(), deployment(), &health.Related{}, Known{WantsEvidence: true})
	if err != nil || found.Evidence == nil || found.Cause == nil {
		t.Fatalf("%+v, %v", found, err)
	}
	var events []string
	for _, e := range found.Evidence.Events {
		events = append(events, e.Kind+" "+e.Name+" "+e.Reason+": "+e.Message)
	}
	slices.Sort(events)
	const message = "with password=[redacted]"
	if diff := cmp.Diff([]string{"Deployment web ScalingReplicaSet: " + message, "Pod web-1-a BackOff: " + message, "ReplicaSet web-1 FailedCreate: " + message}, events); diff != "" {
		t.Error(diff)
	}
	want := []v1alpha1.ObservedContainer{
		{Pod: "web-1-a", Name: "app", State: "Terminated", Reason: "Error", Restarts: 2, Log: "starting\npanic: password=[redacted]", PreviousLog: "an earlier panic"},
		{Pod: "web-1-b", Name: "app", State: "Waiting", Reason: "ImagePullBackOff"},
	}
	if diff := cmp.Diff(want, found.Evidence.Containers); diff != "" {
		t.Error(diff)
	}
	slices.Sort(m.asked)
	asked := slices.DeleteFunc(m.asked, func(key string) bool { return key == "warnings" }) // for the cause
	if diff := cmp.Diff([]string{"events uid-set", "events uid-web", "events uid-web-1-a", "events uid-web-1-b", "pods", "replicasets", "web-1-a/log app false", "web-1-a/log app true"}, asked); diff != "" {
		t.Error(diff)
	}
}

func TestTheRequestsForEvidenceAreBounded(t *testing.T) {
	var pods []string
	for i := range 20 {
		pods = append(pods, pod(fmt.Sprint("web-1-", i), crashing+","+strings.Replace(crashing, "app", "sidecar", 1)))
	}
	m := &fakeMember{answers: map[string]string{"replicasets": replicaSets, "pods": `{"items":[` + strings.Join(pods, ",") + `]}`}}
	found, err := m.reader(t).Explain(t.Context(), deployment(), &health.Related{}, Known{WantsEvidence: true})
	if err != nil || found.Evidence == nil {
		t.Fatalf("%+v, %v", found, err)
	}
	logs, events := 0, 0
	for _, key := range m.asked {
		if strings.Contains(key, "/log ") {
			logs++
		}
		if strings.HasPrefix(key, "events ") {
			events++
		}
	}
	if logs > maxLogs || events > maxSubjects {
		t.Errorf("%d requests for logs and %d for events: %q", logs, events, m.asked)
	}
}

func TestWhatCannotBeReadTellsNothingAboutTheEvidence(t *testing.T) {
	pods := `{"items":[` + pod("web-1-a", crashing) + `]}`
	known := &v1alpha1.Evidence{Containers: []v1alpha1.ObservedContainer{{Pod: "web-1-a", Name: "app", State: "Terminated", Restarts: 2, Log: "the last words", PreviousLog: "those before"}}}
	for name, test := range map[string]struct {
		refused map[string]int
		check   func(Findings, error) bool
	}{
		"the kubelet does not answer": {map[string]int{"web-1-a/log app false": 500, "web-1-a/log app true": 500}, func(f Findings, err error) bool {
			return err == nil && f.Cause != nil && f.Evidence.Containers[0].Log == "the last words" && f.Evidence.Containers[0].PreviousLog == "those before"
		}},
		"an API server that cannot list events": {map[string]int{"events uid-web": 500}, func(f Findings, err error) bool { return err == nil && f.Cause != nil && f.Evidence == nil }},
		"a member that refuses events": {map[string]int{"events uid-web": 403}, func(f Findings, err error) bool {
			return err == nil && len(f.Evidence.Events) == 0 && len(f.Evidence.Containers) == 1
		}},
		"a member that refuses pods":          {map[string]int{"pods": 403}, func(f Findings, err error) bool { return err != nil && f.Cause == nil && len(f.Evidence.Events) == 1 }},
		"an API server that cannot list pods": {map[string]int{"pods": 500}, func(f Findings, err error) bool { return err != nil && f.Evidence == nil }},
		"the kubelet answers with text in place of a log": {nil, func(f Findings, err error) bool {
			return err == nil && f.Evidence.Containers[0].Log == "the last words" && f.Evidence.Containers[0].PreviousLog == "those before"
		}},
	} {
		m := &fakeMember{refused: test.refused, answers: map[string]string{"replicasets": replicaSets, "pods": pods, "events uid-web": event("Deployment", "web", "X"),
			"web-1-a/log app false": "unable to retrieve container logs for containerd://0123", "web-1-a/log app true": "\n"}}
		if found, err := m.reader(t).Explain(t.Context(), deployment(), &health.Related{}, Known{WantsEvidence: true, Evidence: known}); !test.check(found, err) {
			t.Errorf("%s: %+v, %v", name, found, err)
		}
	}
}

func TestTheEventsOfAnObjectWithoutPods(t *testing.T) {
	ingress := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": map[string]any{"namespace": "shop", "name": "web", "uid": "uid-web"}}}
	m := &fakeMember{answers: map[string]string{"events uid-web": event("Ingress", "web", "SyncFailed")}}
	reader := m.reader(t)
	found, err := reader.Explain(t.Context(), ingress, &health.Related{}, Known{WantsEvidence: true})
	if err != nil || found.Evidence == nil || len(found.Evidence.Events) != 1 || found.Evidence.Events[0].Reason != "SyncFailed" {
		t.Errorf("%+v, %v", found, err)
	}
	if found, err := reader.Explain(t.Context(), ingress, &health.Related{}, Known{}); err != nil || found.Evidence != nil || len(m.asked) != 1 {
		t.Errorf("nobody wants evidence: %+v, %v, %q", found, err, m.asked)
	}
}

func TestTheEventsOfASubscriptionAreThoseOfWhatOLMMakesOfIt(t *testing.T) {
	made := func(kind, name string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "operators.coreos.com/v1alpha1", "kind": kind, "metadata": map[string]any{"namespace": "shop", "name": name, "uid": "uid-" + name}}}
	}
	csv := made("ClusterServiceVersion", "db.v1")
	csv.Object["spec"] = map[string]any{"install": map[string]any{"spec": map[string]any{"deployments": []any{map[string]any{"name": "web"}}}}}
	m := &fakeMember{answers: map[string]string{
		"web":         `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"namespace":"shop","name":"web","uid":"uid-web","ownerReferences":[{"uid":"uid-db.v1"}]},"spec":{"selector":{"matchLabels":{"app":"web"}}}}`,
		"replicasets": replicaSets, "pods": `{"items":[` + pod("web-1-a", crashing) + `]}`,
	}}
	if found, err := m.reader(t).Explain(t.Context(), made("Subscription", "db"), &health.Related{CSV: csv, InstallPlan: made("InstallPlan", "install-1")}, Known{WantsEvidence: true}); err != nil || len(found.Evidence.Containers) != 1 {
		t.Errorf("%+v, %v", found, err)
	}
	asked := slices.DeleteFunc(m.asked, func(key string) bool { return !strings.HasPrefix(key, "events ") })
	if diff := cmp.Diff([]string{"events uid-db", "events uid-install-1", "events uid-db.v1", "events uid-web-1-a", "events uid-web", "events uid-set"}, asked); diff != "" {
		t.Error(diff)
	}
}

func TestAnExplanationDoesNotWaitForOthers(t *testing.T) {
	m := &fakeMember{}
	r := m.reader(t)
	for range cap(r.places) {
		r.places <- struct{}{}
	}
	if found, err := r.Explain(t.Context(), deployment(), &health.Related{}, Known{WantsEvidence: true}); !errors.Is(err, ErrBusy) || found != (Findings{}) || len(m.asked) > 0 {
		t.Errorf("%+v, %v, %q", found, err, m.asked)
	}
	<-r.places
	if found, err := r.Explain(t.Context(), deployment(), &health.Related{}, Known{WantsEvidence: true}); err != nil || found.Evidence == nil {
		t.Errorf("%+v, %v", found, err)
	}
}
