// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/evidence"
	"github.com/fairlead-dev/fairlead/federate/health"
)

const running = `{"name":"app","ready":true,"state":{"running":{}}}`

var (
	forLogs   = &v1alpha1.EvidenceRequest{Kind: "Deployment", Name: "web", Type: v1alpha1.EvidenceLogs}
	forEvents = &v1alpha1.EvidenceRequest{Kind: "Deployment", Name: "web", Type: v1alpha1.EvidenceEvents}
)

// logsIn returns the logs in an answer, each after the names of its pod and container.
func logsIn(a Answer) (lines []string) {
	for _, c := range a.Evidence.Containers {
		lines = append(lines, fmt.Sprintf("%s/%s: %s", c.Pod, c.Name, c.Log))
	}
	return lines
}

func TestTheLogsForWhichAPersonAsks(t *testing.T) {
	sidecar := strings.Replace(running, "app", "sidecar", 1)
	many := make([]string, 0, 20)
	for i := range 20 {
		many = append(many, pod(fmt.Sprintf("web-1-%02d", i), running))
	}
	for name, test := range map[string]struct {
		pods    []string
		refused map[string]int
		message string
		logs    []string
	}{
		"of all containers, by the names of the pods": {pods: []string{pod("web-1-b", running), pod("web-1-a", running+","+sidecar)},
			logs: []string{"web-1-a/app: password=[redacted]", "web-1-a/sidecar: ready", "web-1-b/app: ready"}},
		"of eight containers at most": {pods: many, message: "these are 8 of its 20 containers", logs: []string{"web-1-00/app: ready", "web-1-01/app: ready",
			"web-1-02/app: ready", "web-1-03/app: ready", "web-1-04/app: ready", "web-1-05/app: ready", "web-1-06/app: ready", "web-1-07/app: ready"}},
		"without pods": {message: "it has no pods at present"},
		"of a container that waits for its image": {pods: []string{pod("web-1-a", `{"name":"app","state":{"waiting":{"reason":"ImagePullBackOff"}}}`)},
			message: "none of its containers has run"},
		"of a kubelet that does not answer": {pods: []string{pod("web-1-b", running), pod("web-1-c", running)}, refused: map[string]int{"web-1-b/log app ": 500},
			message: "the kubelet did not return the log of 1 of 2 containers", logs: []string{"web-1-b/app: ", "web-1-c/app: ready"}},
		"of a member that refuses pods": {refused: map[string]int{"pods": 403}, message: "the member does not allow the collector to read pods: run `hostctl join` for the member again"},
	} {
		m := &fakeMember{refused: test.refused, answers: map[string]string{"replicasets": replicaSets, "pods": `{"items":[` + strings.Join(test.pods, ",") + `]}`}}
		for i := range 20 {
			for _, log := range []string{"web-1-%02d/log app ", "web-1-%02d/log sidecar "} {
				m.answers[fmt.Sprintf(log, i)] = "ready\n"
			}
		}
		m.answers["web-1-a/log app "], m.answers["web-1-a/log sidecar "], m.answers["web-1-b/log app "], m.answers["web-1-c/log app "] = "password=CANARY-hunter2\n", "ready\n", "ready\n", "ready\n"
		a, err := m.reader(t).Answer(t.Context(), deployment(), &health.Related{}, forLogs)
		if err != nil || a.Message != test.message || len(a.Evidence.Events) > 0 {
			t.Errorf("%s: %+v, %v", name, a, err)
		}
		if diff := cmp.Diff(test.logs, logsIn(a)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// A CSV that has succeeded explains no trouble, but a person may ask for the log of its operator.
func TestTheLogOfAnOperatorThatIsWell(t *testing.T) {
	of := func(kind, name string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "operators.coreos.com/v1alpha1", "kind": kind, "metadata": map[string]any{"namespace": "shop", "name": name, "uid": "uid-" + name}}}
	}
	csv := of("ClusterServiceVersion", "db.v1")
	csv.Object["spec"] = map[string]any{"install": map[string]any{"spec": map[string]any{"deployments": []any{map[string]any{"name": "web"}, map[string]any{"name": "of-another"}}}}}
	csv.Object["status"] = map[string]any{"phase": "Succeeded"}
	m := &fakeMember{answers: map[string]string{
		"web":         `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"namespace":"shop","name":"web","uid":"uid-web","ownerReferences":[{"uid":"uid-db.v1"}]},"spec":{"selector":{"matchLabels":{"app":"web"}}}}`,
		"of-another":  `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"namespace":"shop","name":"of-another","uid":"uid-x"},"spec":{"selector":{"matchLabels":{"app":"web"}}}}`,
		"replicasets": replicaSets, "pods": `{"items":[` + pod("web-1-a", running) + `]}`, "web-1-a/log app ": "ready\n", "events uid-db": event("Subscription", "db", "X"),
	}}
	related := &health.Related{CSV: csv}
	a, err := m.reader(t).Answer(t.Context(), of("Subscription", "db"), related, forLogs)
	if diff := cmp.Diff([]string{"web-1-a/app: ready"}, logsIn(a)); err != nil || diff != "" {
		t.Errorf("%v, %s", err, diff)
	}
	if a, err = m.reader(t).Answer(t.Context(), of("Subscription", "db"), related, forEvents); err != nil || len(a.Evidence.Events) != 1 || len(a.Evidence.Containers) > 0 {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestAnswersHaveTheirOwnLimits(t *testing.T) {
	line := strings.Repeat("a line of the log of a container that runs ", 20) + "\n"
	m := &fakeMember{answers: map[string]string{"replicasets": replicaSets, "pods": `{"items":[` + pod("web-1-a", running) + `]}`}}
	m.answers["web-1-a/log app "] = strings.Repeat(line, 200)
	r := m.reader(t)
	a, err := r.Answer(t.Context(), deployment(), &health.Related{}, forLogs)
	if err != nil || len(a.Evidence.Containers) != 1 {
		t.Fatalf("%+v, %v", a, err)
	}
	if log := a.Evidence.Containers[0].Log; len(log) > evidence.MaxAnswerLogs || len(log) < evidence.MaxAnswerLogs-2*len(line) || !strings.HasPrefix(log, "a line") {
		t.Errorf("the log has %d bytes", len(log))
	}
	for range cap(r.answers) {
		r.answers <- struct{}{}
	}
	if _, err := r.Answer(t.Context(), deployment(), &health.Related{}, forLogs); !errors.Is(err, ErrBusy) {
		t.Errorf("%v", err)
	}
	if found, err := r.Explain(t.Context(), deployment(), &health.Related{}, Known{WantsEvidence: true}); err != nil || found.Evidence == nil {
		t.Errorf("an explanation waits for answers: %+v, %v", found, err)
	}
}

func TestTheEventsOfAHealthyDeploymentAreThoseOfItsNewestPods(t *testing.T) {
	var pods []string
	for i := range 20 {
		pods = append(pods, strings.Replace(pod(fmt.Sprintf("web-1-%02d", i), running), "10:00:00Z", fmt.Sprintf("10:00:%02dZ", i), 1))
	}
	m := &fakeMember{answers: map[string]string{"replicasets": replicaSets, "pods": `{"items":[` + strings.Join(pods, ",") + `]}`}}
	if _, err := m.reader(t).Answer(t.Context(), deployment(), &health.Related{}, forEvents); err != nil {
		t.Fatal(err)
	}
	asked := slices.DeleteFunc(m.asked, func(key string) bool { return !strings.HasPrefix(key, "events ") })
	if diff := cmp.Diff([]string{"events uid-web", "events uid-web-1-19", "events uid-web-1-18", "events uid-web-1-17", "events uid-set"}, asked); diff != "" {
		t.Error(diff)
	}
}
