// SPDX-License-Identifier: Apache-2.0

package memberreport

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
	"github.com/fairlead-dev/fairlead/internal/member"
	"github.com/fairlead-dev/fairlead/internal/sandbox"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
	"github.com/fairlead-dev/fairlead/internal/testing/plane"
)

// shared is the real API server that the tests of this package share. Each test has its own namespace there.
var shared = plane.New(sandbox.Options{Name: "unit-memberreport"}, prepare)

var (
	config *rest.Config
	sites  atomic.Int64
	now    = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
)

func TestMain(m *testing.M) { os.Exit(shared.Main(m)) }

// prepare installs the CRDs that these tests need.
func prepare(ctx context.Context, s *sandbox.Sandbox) (err error) {
	if config, err = plane.HostConfig(s); err != nil {
		return err
	}
	return plane.InstallCRDs(ctx, config, "federateds", "clusterfederateds", "memberclusters", "memberreports")
}

// site is a namespace on the real API server with one wrapper, and a manager's loop without its cache: the loop reads the metadata
// of reports from the API server.
type site struct {
	*testing.T
	client.Client
	loop    *Reconciler
	clock   *clocktesting.FakeClock
	wrapper *v1alpha1.Federated
	indexes map[string]*deliveries.Index
	store   *deliveries.Store
	// requests counts the loop's requests for MemberReports by HTTP method. A list, which a cache would answer, does not count.
	requests map[string]int
}

func newSite(t *testing.T, placed ...string) *site {
	t.Helper()
	shared.Sandbox(t)
	c, err := client.New(config, client.Options{Scheme: member.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	namespace := &corev1.Namespace{}
	namespace.Name = fmt.Sprintf("r%d-%d", os.Getpid(), sites.Add(1))
	w := build.Federated("web").In(namespace.Name).With(build.ConfigMap("a")).To("east").Obj()
	for _, obj := range []client.Object{namespace, w} {
		if err := c.Create(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}
	w.Status.Placement = v1alpha1.PlacementStatus{ObservedGeneration: 1, Clusters: placed}
	s := &site{T: t, Client: c, clock: clocktesting.NewFakeClock(now), wrapper: w}
	s.restart(DefaultMemory)
	return s
}

// restart replaces the manager by a new process, which has read no member yet.
func (s *site) restart(limit int) {
	s.Helper()
	counted := rest.CopyConfig(config)
	counted.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(req *http.Request) (*http.Response, error) {
			if isList := strings.HasSuffix(req.URL.Path, "/memberreports") && req.Method == http.MethodGet; !isList && strings.Contains(req.URL.Path, "/memberreports") {
				s.requests[req.Method]++
			}
			return next.RoundTrip(req)
		})
	})
	c, err := client.New(counted, client.Options{Scheme: member.Scheme})
	if err != nil {
		s.Fatal(err)
	}
	s.requests, s.indexes, s.store = make(map[string]int), make(map[string]*deliveries.Index), deliveries.NewStore(s.clock)
	s.loop = &Reconciler{client: c, cached: c, live: c, clock: s.clock, known: make(map[deliveries.Key]*knownReports), limits: newWriteLimits(s.clock)}
	s.loop.store = NewStore(s.store, s.clock, limit, logr.Discard(), s.loop.wake)
	s.loop.store.addWrapper(s.wrapper)
	s.loop.store.wrappersListed()
}

type roundTrip func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// connect connects the manager to a member, without a list of the member's Deliveries.
func (s *site) connect(name string) *deliveries.Index {
	s.Helper()
	if s.indexes[name] == nil {
		conn, err := member.Connect(name, &rest.Config{Host: "https://192.0.2.1"})
		if err != nil {
			s.Fatal(err)
		}
		s.indexes[name] = s.store.Open(conn, nil)
	}
	return s.indexes[name]
}

// ill returns the Delivery of the wrapper on a member where the Deployment web crashes with this message and this log. If message is
// "", all objects are healthy.
func (s *site) ill(message, log string) *v1alpha1.Delivery {
	d := &v1alpha1.Delivery{Spec: v1alpha1.DeliverySpec{Wrapper: v1alpha1.Identity(s.wrapper)}}
	d.Name, d.UID, d.Generation = deliveries.KeyOf(d.Spec.Wrapper).Delivery(), "d", 1
	d.Status.ObservedRendering = "sha256:1"
	if message != "" {
		d.Status.Objects = []v1alpha1.ObjectStatus{{Group: "apps", Kind: "Deployment", Name: "web", Health: v1alpha1.Degraded, Reason: "CrashLoopBackOff", Message: message}}
		d.Status.Evidence = []v1alpha1.ObjectEvidence{{Group: "apps", Kind: "Deployment", Name: "web", Evidence: v1alpha1.Evidence{
			Events:     []v1alpha1.ObservedEvent{{Kind: "Pod", Name: "web-1", Type: "Warning", Reason: "BackOff", Message: "back-off\x1b", Count: 3, LastTime: metav1.NewTime(now)}},
			Containers: []v1alpha1.ObservedContainer{{Pod: "web-1", Name: "app", State: "Waiting", Log: log}}}}}
	}
	return d
}

// list makes the manager read the list of a member's Deliveries. The list has only the wrapper's Delivery, which ill makes with this
// message.
func (s *site) list(name, message string) {
	s.Helper()
	s.connect(name).Replace(s.ill(message, "log of "+name))
}

// pass runs the loop once.
func (s *site) pass() (again time.Duration) {
	s.Helper()
	result, err := s.loop.Reconcile(s.Context(), deliveries.KeyOf(v1alpha1.Identity(s.wrapper)))
	if err != nil {
		s.Fatal(err)
	}
	return result.RequeueAfter
}

// reports returns the stored reports of the wrapper's namespace.
func (s *site) reports() []v1alpha1.MemberReport {
	s.Helper()
	list := &v1alpha1.MemberReportList{}
	if err := s.List(s.Context(), list, client.InNamespace(s.wrapper.Namespace)); err != nil {
		s.Fatal(err)
	}
	return list.Items
}

// check fails the test unless these lines describe the stored reports, each as "MESSAGE: MEMBERS, sample of MEMBER".
func (s *site) check(want ...string) {
	s.Helper()
	var got []string
	for _, r := range s.reports() {
		got = append(got, fmt.Sprintf("%s: %s, sample of %s", r.Status.Message, strings.Join(r.Status.Clusters, " "), r.Status.Cluster))
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		s.Errorf("reports %q, want %q", got, want)
	}
}

func (s *site) checkRequests(want map[string]int) {
	s.Helper()
	if fmt.Sprint(s.requests) != fmt.Sprint(want) {
		s.Errorf("requests %v, want %v", s.requests, want)
	}
	clear(s.requests)
}
