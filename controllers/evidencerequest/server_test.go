// SPDX-License-Identifier: Apache-2.0

package evidencerequest

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	rules "github.com/fairlead-dev/fairlead/federate/evidencerequest"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
	"github.com/fairlead-dev/fairlead/internal/member"
	"github.com/fairlead-dev/fairlead/internal/push"
	"github.com/fairlead-dev/fairlead/internal/sandbox"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
	"github.com/fairlead-dev/fairlead/internal/testing/plane"
)

// shared is the real API server that the tests of this package share. Each test has its own namespace there.
var shared = plane.New(sandbox.Options{Name: "unit-evidencerequest"}, prepare)

var (
	config *rest.Config
	sites  atomic.Int64
)

func TestMain(m *testing.M) { os.Exit(shared.Main(m)) }

// prepare installs the CRDs that these tests need.
func prepare(ctx context.Context, s *sandbox.Sandbox) (err error) {
	if config, err = plane.HostConfig(s); err != nil {
		return err
	}
	return plane.InstallCRDs(ctx, config, "federateds", "clusterfederateds", "memberclusters", "memberreports")
}

// fakeRequests has the requests that the loop sets.
type fakeRequests struct {
	set      map[string][]v1alpha1.EvidenceRequest
	sets     int
	problem  *rules.Problem
	listener push.RequestListener
}

var _ Requests = &fakeRequests{}

func (r *fakeRequests) Set(key deliveries.Key, memberName string, requests []v1alpha1.EvidenceRequest) {
	r.sets++
	if r.set[memberName+" "+key.Name] = requests; len(requests) == 0 {
		delete(r.set, memberName+" "+key.Name)
	}
}

func (r *fakeRequests) Of(deliveries.Key, string) (bool, *rules.Problem) {
	return r.problem == nil, r.problem
}

func (r *fakeRequests) OnChange(l push.RequestListener) { r.listener = l }

// site is a namespace on the real API server with one wrapper, and the loop without its cache: the loop reads from the API server.
type site struct {
	*testing.T
	client.Client
	namespace string
	wrapper   *v1alpha1.Federated
	loop      *Reconciler
	clock     *clocktesting.FakeClock
	requests  *fakeRequests
	index     *deliveries.Index
	// reads is how many whole reports the loop has read. writes is how often it has written a status.
	reads, writes int
}

func newSite(t *testing.T) *site {
	t.Helper()
	shared.Sandbox(t)
	c, err := client.New(config, client.Options{Scheme: member.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	s := &site{T: t, Client: c, namespace: fmt.Sprintf("q%d-%d", os.Getpid(), sites.Add(1)), clock: clocktesting.NewFakeClock(time.Now())}
	namespace := &corev1.Namespace{}
	namespace.Name = s.namespace
	east := &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "east"}, Spec: v1alpha1.MemberClusterSpec{Endpoint: "https://192.0.2.1"}}
	east.Spec.CredentialsRef.Name = "east"
	for _, obj := range []client.Object{namespace, east} {
		if err := c.Create(t.Context(), obj); client.IgnoreAlreadyExists(err) != nil {
			t.Fatal(err)
		}
	}
	s.wrapper = build.Federated("web").In(s.namespace).With(build.ConfigMap("a"), build.ConfigMap("b"), build.ConfigMap("c"), build.ConfigMap("d"), build.ConfigMap("e")).To("east").Obj()
	if err := c.Create(t.Context(), s.wrapper); err != nil {
		t.Fatal(err)
	}
	s.place("east")
	s.restart()
	return s
}

// place places the wrapper on these members.
func (s *site) place(members ...string) {
	s.Helper()
	patch := fmt.Sprintf(`{"status":{"placement":{"observedGeneration":1,"clusters":["%s"]}}}`, strings.Join(members, `","`))
	if err := s.Client.Status().Patch(s.Context(), s.wrapper, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		s.Fatal(err)
	}
}

// restart replaces the manager by a new process, which knows no report.
func (s *site) restart() {
	s.Helper()
	counted := rest.CopyConfig(config)
	counted.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(req *http.Request) (*http.Response, error) {
			isMetadata := strings.Contains(req.Header.Get("Accept"), "PartialObjectMetadata")
			switch isReport := strings.Contains(req.URL.Path, "/memberreports/"); {
			case isReport && req.Method == http.MethodGet && !isMetadata:
				s.reads++
			case isReport && req.Method != http.MethodGet:
				s.writes++
			}
			return next.RoundTrip(req)
		})
	})
	c, err := client.New(counted, client.Options{Scheme: member.Scheme})
	if err != nil {
		s.Fatal(err)
	}
	store := deliveries.NewStore(s.clock)
	s.requests = &fakeRequests{set: make(map[string][]v1alpha1.EvidenceRequest)}
	s.loop = &Reconciler{client: c, cached: c, live: c, clock: s.clock, writes: newWrites(), known: make(map[types.NamespacedName]*report)}
	s.loop.pairs = newPairs(store, s.requests, s.clock, s.loop.queue.AddAfter)
	conn, err := member.Connect("east", &rest.Config{Host: "https://192.0.2.1"})
	if err != nil {
		s.Fatal(err)
	}
	s.index = store.Open(conn, nil)
	s.reads, s.writes = 0, 0
}

type roundTrip func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// asked creates a report that asks for events of a ConfigMap, as a person does.
func (s *site) asked(name string, change func(*v1alpha1.MemberReportSpec)) types.NamespacedName {
	s.Helper()
	r := &v1alpha1.MemberReport{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}, Spec: v1alpha1.MemberReportSpec{
		Wrapper: v1alpha1.WrapperReference{Kind: v1alpha1.KindFederated, Name: "web", UID: s.wrapper.UID},
		Request: v1alpha1.EvidenceEvents, Cluster: "east", Object: v1alpha1.ReportedObject{Kind: "ConfigMap", Name: "a"}, Expires: metav1.NewTime(s.clock.Now().Add(10 * time.Minute))}}
	if change != nil {
		change(&r.Spec)
	}
	if err := s.Create(s.Context(), r); err != nil {
		s.Fatal(err)
	}
	return client.ObjectKeyFromObject(r)
}

// pass runs the loop once for a report.
func (s *site) pass(name types.NamespacedName) (again time.Duration) {
	s.Helper()
	result, err := s.loop.Reconcile(s.Context(), item{report: name})
	if err != nil {
		s.Fatal(err)
	}
	return result.RequeueAfter
}

// status returns the status of a report, and whether the report exists.
func (s *site) status(name types.NamespacedName) (v1alpha1.MemberReportStatus, bool) {
	s.Helper()
	r := &v1alpha1.MemberReport{}
	err := s.Get(s.Context(), name, r)
	if client.IgnoreNotFound(err) != nil {
		s.Fatal(err)
	}
	return r.Status, !apierrors.IsNotFound(err)
}

// check fails if the status of a report has another reason, or a message without these words.
func (s *site) check(when string, name types.NamespacedName, reason string, words ...string) v1alpha1.MemberReportStatus {
	s.Helper()
	status, there := s.status(name)
	if !there || status.Reason != reason {
		s.Errorf("%s: %t %s: %s, want %s", when, there, status.Reason, status.Message, reason)
	}
	for _, word := range words {
		if !strings.Contains(status.Message, word) {
			s.Errorf("%s: the message lacks %q: %s", when, word, status.Message)
		}
	}
	return status
}

// delivery returns the Delivery of the wrapper on the member, with the requests that the loop has set. Each request has an answer with
// one event, which has this message. With "" there are no answers.
func (s *site) delivery(message string) *v1alpha1.Delivery {
	d := &v1alpha1.Delivery{Spec: v1alpha1.DeliverySpec{Wrapper: v1alpha1.Identity(s.wrapper), Requests: s.requests.set["east web"]}}
	d.Name, d.UID, d.Generation = deliveries.KeyOf(d.Spec.Wrapper).Delivery(), "d", 1
	for _, r := range d.Spec.Requests {
		if message != "" {
			d.Status.Answers = append(d.Status.Answers, v1alpha1.EvidenceAnswer{Request: r, Evidence: v1alpha1.Evidence{Events: []v1alpha1.ObservedEvent{
				{Kind: "ConfigMap", Name: r.Name, Type: "Normal", Reason: "Seen", Message: message, Count: 1, LastTime: metav1.NewTime(s.clock.Now().Truncate(time.Second))}}}})
		}
	}
	return d
}
