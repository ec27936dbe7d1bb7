// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/collect/objectcache"
)

// watchesDeployment passes the present state of a Deployment to the Collector, as an event of the watch, and queues the Delivery.
func (u *unwatched) watchesDeployment(name string) *unstructured.Unstructured {
	u.m.t.Helper()
	obj, err := u.m.client.Resource(deploymentsGVR).Namespace(u.m.namespace).Get(u.m.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		u.m.t.Fatal(err)
	}
	about := &metav1.PartialObjectMetadata{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, about); err != nil {
		u.m.t.Fatal(err)
	}
	gr := deploymentsGVR.GroupResource()
	for _, r := range u.objects.cache.Keep([]schema.GroupResource{gr}) {
		r.SetVersion(deploymentsGVR)
		r.Replace(map[types.NamespacedName]objectcache.Record{{Namespace: u.m.namespace, Name: name}: objectcache.RecordOf(gr, about)}, about.ResourceVersion)
	}
	u.deliveries.looks.Add(u.m.deliveryName())
	return obj
}

// mustLook makes a pass after this time, and returns its requests.
func (u *unwatched) mustLook(after time.Duration) []string {
	u.m.t.Helper()
	u.passTime(after)
	u.deliveries.looks.Add(u.m.deliveryName())
	asked, err := u.lookOnce()
	if err != nil {
		u.m.t.Fatal(err)
	}
	return asked
}

const patchOfStatus = "PATCH Delivery/status"

func TestTheEvidenceAboutACrashIsWrittenUntilTheObjectIsHealthy(t *testing.T) {
	m := newMember(t)
	node := "node-" + m.namespace
	m.kubelet(node, "starting\n\x1b[31mpanic: cannot log in with password=CANARY-hunter2-x7Jq9\x1b[0m\n")
	u := m.unwatched()
	m.deliver("sha256:1", m.push(deploymentsGVR, m.workload("Deployment", "web")))
	u.watchBringsDelivery()
	m.patch("kcm", deploymentsGVR, "web", `{"metadata":{"annotations":{"deployment.kubernetes.io/revision":"1"}}}`)
	deployment := u.watchesDeployment("web")
	if asked := u.mustLook(0); !slices.Contains(asked, patchOfStatus) || len(m.delivery().Status.Evidence) > 0 {
		t.Fatalf("the object has only just become unhealthy: %q, %+v", asked, m.delivery().Status)
	}
	pod := m.pod("web-1-x", node, m.replicaSet("web-1", "1", deployment))
	m.warn(pod, "BackOff", "Back-off restarting failed container, token=CANARY-ghp_hunter2")
	u.mustLook(6 * time.Second)
	status := m.delivery().Status
	if len(status.Evidence) != 1 || len(status.Evidence[0].Events) != 1 {
		t.Fatalf("%+v", status)
	}
	status.Evidence[0].Events[0].LastTime = metav1.Time{}
	want := v1alpha1.ObjectEvidence{Group: "apps", Kind: "Deployment", Name: "web", Evidence: v1alpha1.Evidence{
		Events:     []v1alpha1.ObservedEvent{{Kind: "Pod", Name: "web-1-x", Type: "Warning", Reason: "BackOff", Message: "Back-off restarting failed container, token=[redacted]", Count: 1}},
		Containers: []v1alpha1.ObservedContainer{{Pod: "web-1-x", Name: "app", State: "Waiting", Reason: "CrashLoopBackOff", Restarts: 4, Log: "starting\npanic: cannot log in with password=[redacted]"}},
	}}
	if diff := cmp.Diff(want, status.Evidence[0]); diff != "" {
		t.Error(diff)
	}
	if status.Objects[0].Reason != "CrashLoopBackOff" {
		t.Errorf("%+v", status.Objects)
	}

	// The host pushes a change, and the collector keeps what it knows until the object is judged again.
	entry := m.delivery().Spec.Inventory[0]
	entry.State = v1alpha1.EntryPending
	m.deliver("sha256:1", entry)
	u.watchBringsDelivery()
	u.mustLook(time.Minute)
	if got := m.delivery().Status; len(got.Evidence) != 1 {
		t.Errorf("%+v", got)
	}
	entry.State = v1alpha1.EntryApplied
	m.deliver("sha256:1", entry)
	u.watchBringsDelivery()

	// A collector that has just started keeps the evidence in the status, too, as long as it has not read the object.
	again := m.unwatched()
	again.watchBringsDelivery()
	if asked := again.mustLook(0); len(asked) > 0 {
		t.Errorf("nothing was watched, and the collector sent %q", asked)
	}

	m.patch("kcm", deploymentsGVR, "web", `{"status":{"observedGeneration":2,"replicas":1,"updatedReplicas":1,"readyReplicas":1,"availableReplicas":1,"conditions":[
		{"type":"Progressing","status":"True","reason":"NewReplicaSetAvailable"},{"type":"Available","status":"True"}]}}`, "status")
	u.watchesDeployment("web")
	if diff := cmp.Diff([]string{"GET web"}, u.mustLook(time.Minute)); diff != "" {
		t.Errorf("the container may crash again: %s", diff)
	}
	if diff := cmp.Diff([]string{"GET web", patchOfStatus}, u.mustLook(time.Minute)); diff != "" {
		t.Error(diff)
	}
	if got := m.delivery().Status; len(got.Evidence) > 0 || len(got.Objects) > 0 {
		t.Errorf("the object is healthy: %+v", got)
	}
	m.patch("kcm", deploymentsGVR, "web", `{"metadata":{"labels":{"a":"b"}}}`)
	u.watchesDeployment("web")
	if diff := cmp.Diff([]string{"GET web"}, u.mustLook(time.Minute)); diff != "" {
		t.Errorf("a healthy object costs other requests: %s", diff)
	}
}

// Without a readiness probe, a container is ready from its start to the next crash.
func TestAWorkloadThatIsReadyBetweenCrashesStaysDegraded(t *testing.T) {
	m := newMember(t)
	node := "node-" + m.namespace
	m.kubelet(node, "panic: no route to the database\n")
	u := m.unwatched()
	m.deliver("sha256:1", m.push(deploymentsGVR, m.workload("Deployment", "web")))
	u.watchBringsDelivery()
	m.patch("kcm", deploymentsGVR, "web", `{"metadata":{"annotations":{"deployment.kubernetes.io/revision":"1"}}}`)
	available := func(replicas int, available string) {
		m.patch("kcm", deploymentsGVR, "web", fmt.Sprintf(`{"status":{"observedGeneration":2,"replicas":1,"updatedReplicas":1,"readyReplicas":%d,"availableReplicas":%[1]d,
			"conditions":[{"type":"Progressing","status":"True","reason":"NewReplicaSetAvailable"},{"type":"Available","status":%q}]}}`, replicas, available), "status")
	}
	crashes := func() *unstructured.Unstructured { available(0, "False"); return u.watchesDeployment("web") }
	runs := func() { available(1, "True"); u.watchesDeployment("web") }
	m.pod("web-1-x", node, m.replicaSet("web-1", "1", crashes()))
	for range 4 {
		u.mustLook(6 * time.Second)
	}
	state := func() string {
		var all []string
		for _, o := range m.delivery().Status.Objects {
			all = append(all, string(o.Health)+" "+o.Reason)
		}
		return strings.Join(all, ", ")
	}
	const looping = "Degraded CrashLoopBackOff"
	if state() != looping {
		t.Fatal(state())
	}
	for crash := range 3 {
		runs()
		for _, after := range []time.Duration{6 * time.Second, 20 * time.Second} {
			if asked := u.mustLook(after); slices.Contains(asked, patchOfStatus) || state() != looping {
				t.Errorf("the container runs, and the status is %q (requests %q)", state(), asked)
			}
		}
		crashes()
		if crash == 2 { // the collector cannot read why; nor can it while it reads the explanations of too many other objects
			u.before = func(r *http.Request) {
				if strings.HasSuffix(r.URL.Path, "/pods") {
					r.URL.Path += "-of-no-kind"
				}
			}
		}
		if asked := u.mustLook(6 * time.Second); slices.Contains(asked, patchOfStatus) || state() != looping {
			t.Errorf("the container has crashed again, and the status is %q (requests %q)", state(), asked)
		}
	}
	u.before = func(*http.Request) {}
	runs()
	u.mustLook(6 * time.Second)
	again := m.unwatched() // a collector that has just started knows no crash but the one in the status
	again.watchBringsDelivery()
	again.watchesDeployment("web")
	again.mustLook(time.Minute)
	if state() != looping {
		t.Errorf("after a start of the collector the status is %q", state())
	}
	again.mustLook(31 * time.Second)
	if state() != "" || len(m.delivery().Status.Evidence) > 0 {
		t.Errorf("the container runs, and the status is %q", state())
	}
	runs()
	again.mustLook(6 * time.Second)
	if state() != "" {
		t.Errorf("after another change the status is %q", state())
	}
}

func TestTheEventsOfAnObjectWithoutPodsAreEvidence(t *testing.T) {
	m := newMember(t)
	m.collect()
	claim := object("v1", "PersistentVolumeClaim", m.namespace, "data")
	claim.Object["spec"] = map[string]any{"accessModes": []any{"ReadWriteOnce"}, "storageClassName": "gold", "resources": map[string]any{"requests": map[string]any{"storage": "1Gi"}}}
	m.deliver("sha256:1", m.push(claimsGVR, claim))
	made, err := m.client.Resource(claimsGVR).Namespace(m.namespace).Get(t.Context(), "data", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	m.warn(made, "ProvisioningFailed", "quota exceeded")
	waitFor(t, time.Minute, func() string {
		status := m.delivery().Status
		if len(status.Evidence) == 1 && len(status.Evidence[0].Events) == 1 && status.Evidence[0].Events[0].Reason == "ProvisioningFailed" {
			return ""
		}
		text, _ := json.Marshal(status) // a status is JSON
		return string(text)
	})
}

// changeStatus calls change for each status that the collector writes, so that change can alter it. If change returns an answer, the
// collector gets that answer, and the API server does not get the status.
func changeStatus(change func(status map[string]any) *http.Response) func(http.RoundTripper) http.RoundTripper {
	return func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.Method != http.MethodPatch || !strings.HasSuffix(r.URL.Path, "/status") {
				return next.RoundTrip(r)
			}
			var patch map[string]any
			if err := json.NewDecoder(r.Body).Decode(&patch); err != nil {
				return nil, err
			}
			status, _, _ := unstructured.NestedMap(patch, "status")
			if answer := change(status); answer != nil {
				answer.Request = r
				return answer, nil
			}
			patch["status"] = status
			text, err := json.Marshal(patch)
			if err != nil {
				return nil, err
			}
			r = r.Clone(r.Context())
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
			return next.RoundTrip(r)
		})
	}
}

// The API server drops a field that the CRD does not have. The transport here does the same with the field evidence, because all tests share one CRD.
func TestAMemberWithAnEarlierCRDIsNotWrittenAgainAndAgain(t *testing.T) {
	m := newMember(t)
	isEarlier := true
	m.config.Wrap(changeStatus(func(status map[string]any) *http.Response {
		if isEarlier {
			delete(status, "evidence")
		}
		return nil
	}))
	u := m.unwatched()
	m.deliver("sha256:1", v1alpha1.InventoryEntry{Group: "apps", Kind: "Deployment", Name: "web", State: v1alpha1.EntryPending})
	u.watchBringsDelivery()
	for i, step := range []struct {
		after           time.Duration
		reason, message string
		writes          int
	}{
		{0, "CrashLoopBackOff", "one", 1},
		{time.Minute, "CrashLoopBackOff", "one", 0},
		{time.Minute, "CrashLoopBackOff", "two", 0},
		{time.Minute, "OOMKilled", "two", 1},
		{evidenceAgain, "OOMKilled", "two", 1}, // perhaps the member was joined again
		{time.Minute, "OOMKilled", "two", 0},
	} {
		if asked, _ := u.publishOnce(step.after, step.reason, step.message); len(asked) != step.writes || m.delivery().Status.Objects[0].Reason != step.reason || m.message() != "" {
			t.Errorf("step %d: %q, %+v", i, asked, m.delivery().Status)
		}
	}
	isEarlier = false
	if asked, _ := u.publishOnce(evidenceAgain, "OOMKilled", "two"); len(asked) != 1 || m.message() != "two" {
		t.Errorf("the CRD has the field: %q, %+v", asked, m.delivery().Status)
	}
}

func TestRefusedEvidenceDoesNotHoldBackTheVerdict(t *testing.T) {
	for _, code := range []int{http.StatusUnprocessableEntity, http.StatusForbidden, http.StatusNotAcceptable, http.StatusInternalServerError} {
		t.Run(http.StatusText(code), func(t *testing.T) { refusedEvidence(t, code) })
	}
}

// Evidence of pods that are gone cannot be gathered again, so an error that is not about the evidence must not remove it.
func TestOnlyARefusalOfTheContentRemovesEvidence(t *testing.T) {
	for name, test := range map[string]struct {
		err  error
		want bool
	}{
		"no error":                      {nil, false},
		"a broken connection":           {io.ErrUnexpectedEOF, false},
		"an API server without etcd":    {apierrors.NewInternalError(errors.New("etcdserver: leader changed")), false},
		"an overloaded API server":      {apierrors.NewTooManyRequests("later", 1), false},
		"an API server that is going":   {apierrors.NewServiceUnavailable("shutting down"), false},
		"another write":                 {apierrors.NewConflict(deliveriesGVR.GroupResource(), "d", errors.New("changed")), false},
		"a member that forbids it":      {apierrors.NewForbidden(deliveriesGVR.GroupResource(), "d", errors.New("denied by a webhook")), true},
		"a status that is no such kind": {apierrors.NewInvalid(schema.GroupKind{}, "d", nil), true},
		"etcd's limit":                  {apierrors.NewInternalError(errors.New("etcdserver: request is too large")), true},
	} {
		if got := refusesContent(test.err); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

// refusedEvidence checks the collector on a member that refuses evidence with this code.
func refusedEvidence(t *testing.T, code int) {
	t.Helper()
	m := newMember(t)
	m.config.Wrap(changeStatus(func(status map[string]any) *http.Response {
		if status["evidence"] == nil {
			return nil
		}
		words := fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","code":%d,"message":"etcdserver: request is too large"}`, code)
		return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(words))}
	}))
	u := m.unwatched()
	m.deliver("sha256:1", v1alpha1.InventoryEntry{Group: "apps", Kind: "Deployment", Name: "web", State: v1alpha1.EntryPending})
	u.watchBringsDelivery()
	for i, step := range []struct {
		after  time.Duration
		reason string
		writes int
	}{
		{0, "CrashLoopBackOff", 2},
		{time.Minute, "CrashLoopBackOff", 0},
		{time.Minute, "OOMKilled", 1},
		{evidenceAgain, "OOMKilled", 1},
	} {
		if asked, _ := u.publishOnce(step.after, step.reason, "one"); len(asked) != step.writes || m.delivery().Status.Objects[0].Reason != step.reason || m.message() != "" {
			t.Errorf("step %d: %q, %+v", i, asked, m.delivery().Status)
		}
	}
}
