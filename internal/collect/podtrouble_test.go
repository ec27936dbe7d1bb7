// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/health"
)

var (
	podsGVR        = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	jobsGVR        = schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}
	replicaSetsGVR = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "replicasets"}
)

// logReads are the paths and the parameters of the log requests that a kubelet gets.
type logReads struct {
	mu             sync.Mutex
	paths, queries []string
}

// kubelet makes a node whose kubelet serves logs and does nothing else.
func (m *member) kubelet(name, log string) *logReads {
	m.t.Helper()
	reads := &logReads{}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reads.mu.Lock()
		defer reads.mu.Unlock()
		reads.paths, reads.queries = append(reads.paths, r.URL.Path), append(reads.queries, r.URL.RawQuery)
		_, _ = w.Write([]byte(log)) // the API server reports an error
	}))
	m.t.Cleanup(server.Close)
	host, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		m.t.Fatal(err)
	}
	number, err := strconv.ParseInt(port, 10, 32)
	if err != nil {
		m.t.Fatal(err)
	}
	m.create(nodesGVR, object("v1", "Node", "", name))
	m.patchNode(name, fmt.Sprintf(`{"status":{"addresses":[{"type":"InternalIP","address":%q}],"daemonEndpoints":{"kubeletEndpoint":{"Port":%d}}}}`, host, number))
	m.t.Cleanup(func() { // so that other tests count no node
		_ = m.client.Resource(nodesGVR).Delete(context.Background(), name, metav1.DeleteOptions{})
	})
	return reads
}

func (m *member) patchNode(name, status string) {
	m.t.Helper()
	if _, err := m.client.Resource(nodesGVR).Patch(m.t.Context(), name, types.MergePatchType, []byte(status), metav1.PatchOptions{}, "status"); err != nil {
		m.t.Fatal(err)
	}
}

// create creates an object, as another client does, and returns it.
func (m *member) create(gvr schema.GroupVersionResource, obj *unstructured.Unstructured) *unstructured.Unstructured {
	m.t.Helper()
	made, err := m.client.Resource(gvr).Namespace(obj.GetNamespace()).Create(m.t.Context(), obj, metav1.CreateOptions{})
	if err != nil {
		m.t.Fatal(err)
	}
	return made
}

// workload is a Deployment or a ReplicaSet with the label app=web.
func (m *member) workload(kind, name string) *unstructured.Unstructured {
	w := object("apps/v1", kind, m.namespace, name)
	w.SetLabels(map[string]string{"app": "web"})
	labels := map[string]any{"app": "web"}
	w.Object["spec"] = map[string]any{
		"selector": map[string]any{"matchLabels": labels},
		"template": map[string]any{
			"metadata": map[string]any{"labels": labels},
			"spec":     map[string]any{"containers": []any{map[string]any{"name": "app", "image": "web:1"}}},
		},
	}
	return w
}

// pod makes a pod with the label app=web, whose container app has crashed. owner may be nil.
func (m *member) pod(name, node string, owner *unstructured.Unstructured) *unstructured.Unstructured {
	m.t.Helper()
	p := object("v1", "Pod", m.namespace, name)
	p.SetLabels(map[string]string{"app": "web"})
	if owner != nil {
		p.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(owner, owner.GroupVersionKind())})
	}
	p.Object["spec"] = map[string]any{"nodeName": node, "containers": []any{map[string]any{"name": "app", "image": "web:1"}}}
	made := m.create(podsGVR, p)
	m.patch("kubelet", podsGVR, name, `{"status":{"phase":"Running","containerStatuses":[{"name":"app","image":"web:1","imageID":"x","ready":false,"restartCount":4,
		"state":{"waiting":{"reason":"CrashLoopBackOff","message":"back-off 1m20s"}},"lastState":{"terminated":{"exitCode":2,"reason":"Error","finishedAt":"2026-01-01T00:00:00Z"}}}]}}`, "status")
	return made
}

// replicaSet makes a ReplicaSet of a Deployment's revision.
func (m *member) replicaSet(name, revision string, deployment *unstructured.Unstructured) *unstructured.Unstructured {
	m.t.Helper()
	set := m.workload("ReplicaSet", name)
	set.SetAnnotations(map[string]string{"deployment.kubernetes.io/revision": revision})
	set.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(deployment, deployment.GroupVersionKind())})
	return m.create(replicaSetsGVR, set)
}

// No Deployment controller and no kubelet run here, so the test itself makes the writes that these make for a container
// that crashes.
func TestTheCrashOfAPodIsToldWithTheLastWordsOfItsLog(t *testing.T) {
	m := newMember(t)
	node := "node-" + m.namespace
	reads := m.kubelet(node, "starting\npanic: cannot log in with password=CANARY-hunter2-x7Jq9\n\ngoroutine 1 [running]:\nexit status 2\n")
	m.collect()
	m.deliver("sha256:1", m.push(deploymentsGVR, m.workload("Deployment", "web")))
	m.waitForStatus(time.Minute, "Deployment web Progressing/LessReplicas")
	m.patch("kcm", deploymentsGVR, "web", `{"metadata":{"annotations":{"deployment.kubernetes.io/revision":"2"}}}`)
	deployment, err := m.client.Resource(deploymentsGVR).Namespace(m.namespace).Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	// These pods have the same labels, and crash, too. The collector must not read their logs: the first has no owner, the second has
	// another owner, and the third belongs to the previous revision.
	m.pod("a-stranger", node, nil)
	m.pod("b-stranger", node, m.create(replicaSetsGVR, m.workload("ReplicaSet", "other")))
	m.pod("web-1-x", node, m.replicaSet("web-1", "1", deployment))

	m.pod("web-2-x", node, m.replicaSet("web-2", "2", deployment))
	d := m.waitForStatus(time.Minute, "Deployment web Degraded/CrashLoopBackOff")
	const want = "pod web-2-x: container app ended with exit code 2 (Error) after 4 restarts; from its log: panic: cannot log in with password=[redacted]; Replicas: 0/1"
	if diff := cmp.Diff(want, d.Status.Objects[0].Message); diff != "" {
		t.Error(diff)
	}
	reads.mu.Lock()
	defer reads.mu.Unlock()
	for _, path := range reads.paths {
		if path != "/containerLogs/"+m.namespace+"/web-2-x/app" {
			t.Errorf("the collector read the log %s", path)
		}
	}
}

// A kubelet that does not answer must not hold back what the pod itself shows.
func TestACrashIsToldWithoutALogToo(t *testing.T) {
	m := newMember(t)
	m.collect()
	job := m.workload("Job", "load")
	job.SetAPIVersion("batch/v1")
	unstructured.RemoveNestedField(job.Object, "spec", "selector")
	if err := unstructured.SetNestedField(job.Object, "Never", "spec", "template", "spec", "restartPolicy"); err != nil {
		t.Fatal(err)
	}
	m.deliver("sha256:1", m.push(jobsGVR, job))
	made, err := m.client.Resource(jobsGVR).Namespace(m.namespace).Get(t.Context(), "load", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pod := m.pod("load-x", "no-such-node", made)
	pod.SetLabels(map[string]string{"batch.kubernetes.io/controller-uid": string(made.GetUID())})
	m.patch("kcm", podsGVR, "load-x", fmt.Sprintf(`{"metadata":{"labels":{"batch.kubernetes.io/controller-uid":%q}}}`, made.GetUID()))
	m.patch("kubelet", podsGVR, "load-x", `{"status":{"phase":"Failed","containerStatuses":[{"name":"app","image":"web:1","imageID":"x","ready":false,"restartCount":0,
		"state":{"terminated":{"exitCode":3,"reason":"Error"}},"lastState":{}}]}}`, "status")
	m.patch("kcm", jobsGVR, "load", `{"status":{"startTime":"2026-01-01T00:00:00Z","failed":1,"conditions":[
		{"type":"FailureTarget","status":"True","reason":"BackoffLimitExceeded","lastTransitionTime":"2026-01-01T00:00:00Z"},
		{"type":"Failed","status":"True","reason":"BackoffLimitExceeded","message":"Job has reached the specified backoff limit","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`, "status")
	waitFor(t, time.Minute, func() string {
		const want = "pod load-x: container app ended with exit code 3 (Error); "
		if got := m.delivery().Status.Objects; len(got) != 1 || !strings.HasPrefix(got[0].Message, want) || got[0].Reason != "Error" || got[0].Health != v1alpha1.Degraded {
			return fmt.Sprintf("%+v", got)
		}
		return ""
	})
}

func TestWhereTheCollectorMayNotReadPodsItsLineTellsTheWayOut(t *testing.T) {
	m := newMember(t)
	g := &gate{}
	g.set("pods", "replicasets")
	m.collect(func(o *Options) {
		o.Config = rest.CopyConfig(o.Config)
		o.Config.Wrap(g.wrap)
	})
	m.deliver("sha256:1", m.push(deploymentsGVR, m.workload("Deployment", "web")))
	waitFor(t, 30*time.Second, func() string {
		const want = "Replicas: 0/1: the collector may not read the pods; run `hostctl join` for this member again"
		if got := m.delivery().Status.Objects; len(got) != 1 || got[0].Message != want || got[0].Health != v1alpha1.Progressing {
			return fmt.Sprintf("%+v", got)
		}
		return ""
	})
}

func TestPodsAreReadWhenAnObjectIsUnhealthyForAWhile(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	known := explained{at: now.Add(-time.Second), cause: &health.Explanation{Reason: "CrashLoopBackOff"}}
	unhealthy := &judgement{unhealthy: now.Add(-time.Minute), generation: 1, explained: known}
	line := &v1alpha1.ObjectStatus{Health: v1alpha1.Degraded, SinceTime: metav1.NewTime(now.Add(-time.Hour))}
	for name, test := range map[string]struct {
		last       *judgement
		line       *v1alpha1.ObjectStatus
		generation int64
		isDue      bool
		isKnown    bool
	}{
		"the object is new":                                                {generation: 1},
		"the object was healthy":                                           {last: &judgement{generation: 1}, line: line, generation: 1},
		"the object is unhealthy, and was a moment ago":                    {last: unhealthy, line: line, generation: 1, isKnown: true},
		"the object has changed":                                           {last: unhealthy, line: line, generation: 2},
		"the collector has started":                                        {line: line, generation: 1, isDue: true},
		"the collector has started, and the line is of a claim that waits": {line: &v1alpha1.ObjectStatus{Health: v1alpha1.Waiting}, generation: 1},
	} {
		got := explainedBefore(test.last, test.line, test.generation, now)
		if isDue := now.Sub(got.at) >= explainEvery; isDue != test.isDue || (got.cause != nil) != test.isKnown {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestTheNextReadOfAnUnhealthyObject(t *testing.T) {
	since := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct{ lasted, explained, want time.Duration }{
		"the object has just become unhealthy":     {0, 0, 5 * time.Second},
		"it has changed before it was explained":   {3 * time.Second, 0, 2 * time.Second},
		"a moment before":                          {4900 * time.Millisecond, 0, 2 * time.Second},
		"its explanation is due and was not read":  {5 * time.Second, 0, 5 * time.Second},
		"it has changed after it was explained":    {7 * time.Second, 5 * time.Second, 5 * time.Second},
		"it has been unhealthy for a minute":       {time.Minute, 59 * time.Second, 15 * time.Second},
		"for a day":                                {24 * time.Hour, 23 * time.Hour, 5 * time.Minute},
		"the collector has started, and knows how": {time.Minute, time.Minute - explainEvery, 15 * time.Second},
	} {
		if got := unhealthyWait(since, since.Add(test.explained), since.Add(test.lasted)); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

func TestAWriteOfMessagesAloneWaits(t *testing.T) {
	status := func(reason, message string) *v1alpha1.DeliveryStatus {
		return &v1alpha1.DeliveryStatus{Objects: []v1alpha1.ObjectStatus{{Kind: "Deployment", Name: "web", Health: v1alpha1.Degraded, Reason: reason, Message: message}}}
	}
	for name, test := range map[string]struct {
		a, b *v1alpha1.DeliveryStatus
		want bool
	}{
		"other restarts":          {status("CrashLoopBackOff", "after 3 restarts"), status("CrashLoopBackOff", "after 4 restarts"), true},
		"another reason":          {status("CrashLoopBackOff", "x"), status("OOMKilled", "x"), false},
		"another object":          {status("CrashLoopBackOff", "x"), &v1alpha1.DeliveryStatus{}, false},
		"another InstallPlan":     {status(v1alpha1.ReasonInstallPlanPending, "plan a"), status(v1alpha1.ReasonInstallPlanPending, "plan b"), false},
		"another target revision": {status("CrashLoopBackOff", "x"), &v1alpha1.DeliveryStatus{ObservedRendering: "2", Objects: status("CrashLoopBackOff", "y").Objects}, false},
	} {
		if got := sameButMessages(test.a, test.b); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
