// SPDX-License-Identifier: Apache-2.0

package membercluster

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/config"
	"github.com/fairlead-dev/fairlead/internal/join/membercollector"
	"github.com/fairlead-dev/fairlead/internal/join/permissions"
	"github.com/fairlead-dev/fairlead/internal/member"
)

const (
	deploymentPath = "/apis/apps/v1/namespaces/" + v1alpha1.SystemNamespace + "/deployments/" + membercollector.Name
	podsPath       = "/api/v1/namespaces/" + v1alpha1.SystemNamespace + "/pods"
)

// inspected is a server that plays the member, with the objects that the test sets, and the manager's inspection of it.
// The test moves the inspection's clock.
type inspected struct {
	clock *clocktesting.FakeClock
	found *inspections
	news  chan string

	mu      sync.Mutex
	objects map[string]any // by URL path
	asked   map[string]int
	// changes has the events for the watches; the server sends each event to one watch. If it is nil, the server
	// refuses watches.
	changes chan metav1.WatchEvent
}

// inspect starts the inspection of a member that has the host's CRDs. change may change the member before that.
func inspect(t *testing.T, deployed bool, change func(s *inspected)) *inspected {
	t.Helper()
	s := &inspected{clock: clocktesting.NewFakeClock(now), news: make(chan string, 10), objects: map[string]any{}, asked: map[string]int{}}
	s.found = newInspections(func(name string) { s.news <- name })
	for _, name := range permissions.MemberCRDs() {
		s.objects[crdsPath+"/"+name] = embedded(t, name)
	}
	if change != nil {
		change(s)
	}
	server := httptest.NewTLSServer(s)
	t.Cleanup(server.Close)
	conn, err := member.Connect("east", &rest.Config{Host: server.URL, QPS: -1, TLSClientConfig: rest.TLSClientConfig{
		CAData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.found.keep(ctx, conn, deployed, s.clock) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return s
}

func embedded(t *testing.T, name string) *unstructured.Unstructured {
	t.Helper()
	crd, err := config.CustomResourceDefinition(name)
	if err != nil {
		t.Fatal(err)
	}
	return crd
}

func (s *inspected) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.URL.Query().Get("watch") == "true" {
		s.watch(w, req)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked[req.URL.Path]++
	obj, there := s.objects[req.URL.Path]
	switch {
	case req.Method != http.MethodGet || obj == http.StatusForbidden:
		refuse(w, apierrors.NewForbidden(schema.GroupResource{Resource: "any"}, req.URL.Path, nil))
	case !there:
		refuse(w, apierrors.NewNotFound(schema.GroupResource{Resource: "any"}, req.URL.Path))
	default:
		answer(w, obj)
	}
}

func (s *inspected) watch(w http.ResponseWriter, req *http.Request) {
	s.mu.Lock()
	s.asked[req.URL.String()]++
	changes := s.changes
	s.mu.Unlock()
	if changes == nil || req.URL.Query().Get("fieldSelector") != "metadata.name="+membercollector.Name {
		refuse(w, apierrors.NewForbidden(schema.GroupResource{Resource: "deployments"}, "", nil))
		return
	}
	w.WriteHeader(http.StatusOK)
	w.(http.Flusher).Flush()
	select {
	case event := <-changes:
		_ = json.NewEncoder(w).Encode(event) // an error does not matter: the inspection may have ended and closed the connection
	case <-req.Context().Done():
	}
}

func (s *inspected) set(path string, obj any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects[path] = obj
}

func (s *inspected) requests(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[path]
}

// next waits until the inspection waits for the clock, and then moves the clock by wait.
func (s *inspected) next(t *testing.T, wait time.Duration) {
	t.Helper()
	s.waits(t)
	s.clock.Step(wait)
}

func (s *inspected) waits(t *testing.T) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for end := time.After(30 * time.Second); !s.clock.HasWaiters(); {
		select {
		case <-tick.C:
		case <-end:
			t.Fatal("the inspection does not finish its pass")
		}
	}
}

func (s *inspected) told(t *testing.T) inspection {
	t.Helper()
	receive(t, s.news)
	return s.found.of("east")
}

func running() *appsv1.Deployment {
	d := membercollector.Deployment(membercollector.Settings{ClusterName: "east", Image: "r/c:v1"})
	d.ResourceVersion = "7"
	d.Status = appsv1.DeploymentStatus{Replicas: 1, UpdatedReplicas: 1, AvailableReplicas: 1}
	return d
}

// The collector's pod stops. No kubelet runs here, so the test writes the status of the Deployment and the pod.
func TestACollectorThatStopsIsReportedAtTheHost(t *testing.T) {
	s := inspect(t, true, func(s *inspected) { s.objects[deploymentPath] = running() })
	if state := s.told(t).collector; state == nil || !state.Available || state.Reason != "" {
		t.Fatalf("%+v", state)
	}
	// The node of the pod no longer exists, and the other node cannot pull the image.
	gone := running()
	gone.Status.AvailableReplicas, gone.Status.UnavailableReplicas = 0, 1
	s.waits(t)
	s.set(podsPath, corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}, Items: []corev1.Pod{{
		ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: corev1.PodSpec{NodeName: "worker-2"},
		Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Image: "r/c:v1",
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "not found"}}}}}}}})
	s.set(deploymentPath, gone)
	if s.requests(podsPath) != 0 {
		t.Error("the inspection must not read the pods of a collector that runs")
	}
	if inspectEvery >= time.Minute {
		t.Error("the inspection reports the stopped collector only after a minute")
	}
	s.next(t, inspectEvery)
	found := s.told(t)
	if found.collector.Reason != v1alpha1.ReasonImageNotPulled || !strings.Contains(found.collector.Message, "node worker-2 cannot pull image r/c:v1") {
		t.Errorf("%+v", found.collector)
	}
	mc := registered(v1alpha1.CollectorMember)
	statusWriter{probe: well(), inspected: found, now: now}.write(mc)
	if diff := cmp.Diff([]string{"Reachable True Answers", "CredentialsValid True Answers", "CollectorReady False ImageNotPulled", "Ready False ImageNotPulled"}, said(mc)); diff != "" {
		t.Error(diff)
	}
	s.waits(t)
	s.set(deploymentPath, running())
	s.next(t, inspectEvery)
	if state := s.told(t).collector; state.Reason != "" {
		t.Errorf("%+v", state)
	}
	s.waits(t)
	s.set(deploymentPath, http.StatusForbidden)
	s.next(t, inspectEvery)
	s.waits(t)
	if state := s.found.of("east").collector; !state.Available {
		t.Errorf("a missing permission must not count as a collector that does not run: %+v", state)
	}
	if len(s.news) > 0 && s.found.of("east").collector.Reason != "" {
		t.Error("the inspection reports a change although nothing changed")
	}
}

// The quantities take longer to parse than a test may run. A real API server refuses them, but a member is not trusted.
func TestTheInspectionParsesNoQuantityOfAMember(t *testing.T) {
	const endless = `{"limits":{"memory":"1e-2000000000"},"requests":{"memory":"12345678901234567890e2000000000"}}`
	s := inspect(t, true, func(s *inspected) {
		s.objects[deploymentPath] = json.RawMessage(`{"kind":"Deployment","apiVersion":"apps/v1",
			"metadata":{"resourceVersion":"7","generation":2,"labels":{"app.kubernetes.io/managed-by":"hostctl"}},
			"spec":{"replicas":1,"template":{"spec":{"containers":[{"name":"collector","image":"r/c:v1","resources":` + endless + `}]}}},
			"status":{"observedGeneration":2,"replicas":2,"updatedReplicas":1,"availableReplicas":1}}`)
		s.objects[podsPath] = json.RawMessage(`{"kind":"PodList","apiVersion":"v1","items":[
			{"metadata":{"name":"old","creationTimestamp":"2026-01-01T00:00:00Z"},
			 "status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}],
				"containerStatuses":[{"image":"r/c:v0","ready":true,"state":{"running":{}},"resources":` + endless + `}]}},
			{"metadata":{"name":"new","creationTimestamp":"2026-01-02T00:00:00Z"},
			 "spec":{"nodeName":"worker-2","overhead":{"memory":"1e-2000000000"},"containers":[{"name":"collector","resources":` + endless + `}]},
			 "status":{"containerStatuses":[{"image":"r/c:v1","restartCount":3,"allocatedResources":{"memory":"1e-2000000000"},
				"state":{"waiting":{"reason":"CrashLoopBackOff"}},"lastState":{"terminated":{"exitCode":137,"reason":"OOMKilled"}}}]}}]}`)
	})
	want := &membercollector.State{Available: true, Image: "r/c:v1", Reason: v1alpha1.ReasonCollectorCrashed,
		Message: "the collector ended 3 times in pod new on node worker-2, the last time with exit code 137: OOMKilled:"}
	if diff := cmp.Diff(want, s.told(t).collector); diff != "" {
		t.Error(diff)
	}
}

func TestCompleteCRDsAreComparedSeldom(t *testing.T) {
	path := crdsPath + "/" + permissions.MemberCRDs()[0]
	s := inspect(t, false, nil)
	if found := s.told(t); len(found.missing) > 0 || !found.read || found.collector != nil {
		t.Fatalf("%+v", found)
	}
	older := embedded(t, permissions.MemberCRDs()[0])
	version := older.Object["spec"].(map[string]any)["versions"].([]any)[0].(map[string]any)
	unstructured.RemoveNestedField(version, "schema", "openAPIV3Schema", "properties", "spec", "properties", "seal")
	older.SetAnnotations(map[string]string{v1alpha1.AnnotationVersion: "v0.1.0\x1b"})
	s.waits(t)
	s.set(path, older)
	s.clock.Step(inspectEvery)
	if n := s.requests(path); n != 1 {
		t.Errorf("the inspection read CRDs %d times although they lack nothing", n)
	}
	s.next(t, crdsEvery)
	if diff := cmp.Diff([]string{"deliveries.spec.seal"}, s.told(t).missing); diff != "" {
		t.Error(diff)
	}
	if s.requests(deploymentPath) != 0 {
		t.Error("the inspection must not read a Deployment for collector Host")
	}
	s.waits(t)
	s.set(path, embedded(t, permissions.MemberCRDs()[0])) // a join with a newer hostctl updates the CRD
	s.next(t, inspectEvery)
	if found := s.told(t); len(found.missing) > 0 {
		t.Errorf("%+v", found)
	}
}

func TestAMemberThatDoesNotAnswerIsNotOutdated(t *testing.T) {
	for name, instead := range map[string]any{
		"a refusal":      http.StatusForbidden,
		"another object": corev1.ConfigMap{TypeMeta: metav1.TypeMeta{Kind: "ConfigMap", APIVersion: "v1"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := inspect(t, false, func(s *inspected) { s.objects[crdsPath+"/"+permissions.MemberCRDs()[0]] = instead })
			s.waits(t)
			if found := s.found.of("east"); found.read || len(found.missing) > 0 {
				t.Errorf("%+v", found)
			}
			s.set(crdsPath+"/"+permissions.MemberCRDs()[0], embedded(t, permissions.MemberCRDs()[0]))
			s.next(t, inspectEvery)
			if found := s.told(t); !found.read {
				t.Errorf("%+v", found)
			}
		})
	}
}
