// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/render"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
	"github.com/fairlead-dev/fairlead/internal/member"
	"github.com/fairlead-dev/fairlead/internal/push/apply"
	"github.com/fairlead-dev/fairlead/internal/push/memberapi"
	"github.com/fairlead-dev/fairlead/internal/push/namespaces"
	"github.com/fairlead-dev/fairlead/internal/push/plan"
	"github.com/fairlead-dev/fairlead/internal/sandbox"
	"github.com/fairlead-dev/fairlead/internal/testing/plane"
	"github.com/fairlead-dev/fairlead/overrides/selection"
)

// shared is the API server that all tests of this package use as their member. Each test has a namespace of its own
// there.
var shared = plane.New(sandbox.Options{Name: "unit-push"}, prepare)

var (
	config *rest.Config
	admin  client.Client
	sites  atomic.Int64
)

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	os.Exit(shared.Main(m))
}

// prepare installs on the cluster what a push needs: the CRD of Deliveries and namespace fairlead-system.
func prepare(ctx context.Context, s *sandbox.Sandbox) (err error) {
	if config, err = plane.HostConfig(s); err != nil {
		return err
	}
	if admin, err = client.New(config, client.Options{Scheme: member.Scheme}); err != nil {
		return err
	}
	if err := plane.InstallCRDs(ctx, config, "deliveries"); err != nil {
		return err
	}
	system := &corev1.Namespace{}
	system.Name = v1alpha1.SystemNamespace
	return client.IgnoreAlreadyExists(admin.Create(ctx, system))
}

// site is one wrapper and its namespace on the member. Its wire records the requests of the passes.
type site struct {
	*testing.T
	namespace string
	wrapper   v1alpha1.WrapperIdentity
	wire      *wire
	conn      *member.Conn
	seals     deliveries.Seals
	admin     client.Client
}

func newSite(t *testing.T) *site {
	t.Helper()
	shared.Sandbox(t)
	namespace := fmt.Sprintf("s%d-%d", os.Getpid(), sites.Add(1))
	s := &site{T: t, namespace: namespace, admin: admin, seals: deliveries.NewSeals([]byte("the key of the tests"), "host", "east"), wrapper: v1alpha1.WrapperIdentity{
		Kind: v1alpha1.KindFederated, Namespace: namespace, Name: "web", UID: types.UID("uid-" + namespace), Generation: 1,
	}}
	s.connect(config)
	return s
}

// newClusterSite makes a site whose wrapper is a ClusterFederated.
func newClusterSite(t *testing.T) *site {
	t.Helper()
	s := newSite(t)
	s.wrapper.Kind, s.wrapper.Namespace, s.wrapper.Name = v1alpha1.KindClusterFederated, "", s.namespace
	return s
}

// connect gives the site a new connection to the member. The new connection has not cached yet how kinds are served.
func (s *site) connect(to *rest.Config) {
	s.Helper()
	s.wire = &wire{}
	cfg := rest.CopyConfig(to)
	cfg.WrapTransport = func(next http.RoundTripper) http.RoundTripper { s.wire.next = next; return s.wire }
	conn, err := member.Connect("east", cfg)
	if err != nil {
		s.Fatal(err)
	}
	s.conn = conn
}

// want returns the desired state of the site's wrapper with these objects, each as YAML.
func (s *site) want(objects ...string) *Desired {
	s.Helper()
	spec := &v1alpha1.WrapperSpec{}
	for _, text := range objects {
		raw, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			s.Fatal(err)
		}
		spec.Objects = append(spec.Objects, runtime.RawExtension{Raw: raw})
	}
	renderer, err := render.New(spec, s.wrapper.Namespace)
	if err != nil {
		s.Fatal(err)
	}
	rendering, err := renderer.NewRound().Variant(selection.Member{Name: "east"})
	if err != nil {
		s.Fatal(err)
	}
	w := s.leave()
	w.Rendering, w.Revision = rendering, "rev-"+rendering.Digest()[7:12]
	return w
}

// objectsOf returns the objects of a desired state.
func objectsOf(t testing.TB, w *Desired) []render.Object {
	t.Helper()
	made, err := w.Rendering.Render()
	if err != nil {
		t.Fatal(err)
	}
	return made.Objects
}

// leave returns the desired state in which the wrapper is to leave the member.
func (s *site) leave() *Desired {
	return &Desired{
		Wrapper: s.wrapper, Drift: v1alpha1.DriftRepair, OnConflict: v1alpha1.ConflictFail,
		OnDelete: v1alpha1.KeepData, Namespaces: v1alpha1.NamespacesManaged,
	}
}

// pass has the inputs of one pass. Tests set single fields.
type pass struct {
	conn       *member.Conn
	want       *Desired
	drifted    map[plan.ObjectID]v1alpha1.DriftKind
	gone       map[plan.ObjectID]types.UID
	namespaces *namespaces.Cache
	native     *memberapi.NativeKinds
	hostLabels HostLabels
	isNew      bool
	recalled   *deliveries.Summary
	// omitsIntent is true if the last pass recorded all that it did, and the member has a ready collector. The pass then
	// omits the intent if nothing else requires one.
	omitsIntent bool
	unrecorded  plan.UnrecordedOf
	seals       deliveries.Seals
	wanted      func() bool
}

func (p *pass) run(ctx context.Context) (plan.Outcome, error) {
	return apply.New(apply.Member{Conn: p.conn, Namespaces: p.namespaces, Native: p.native, HostLabels: p.hostLabels, Seals: p.seals}, p.want,
		&plan.Work{Drifted: p.drifted, Gone: p.gone, IsNew: p.isNew, Recalled: p.recalled,
			IsRecorded: p.omitsIntent, IsObserved: p.omitsIntent, Unrecorded: p.unrecorded}, p.wanted).Run(ctx)
}

// recall returns the summary of the present Delivery, as the host has it in memory after the watch event; nil when there
// is no Delivery.
func (s *site) recall() *deliveries.Summary {
	s.Helper()
	if d := s.delivery(); d != nil {
		return deliveries.Summarise(d)
	}
	return nil
}

// push makes one pass.
func (s *site) push(w *Desired) (plan.Outcome, error) {
	return (&pass{conn: s.conn, want: w, seals: s.seals}).run(s.Context())
}

// mustPush makes a pass that must end without an error. Its outcome may report trouble.
func (s *site) mustPush(w *Desired) plan.Outcome {
	s.Helper()
	out, err := s.push(w)
	if err != nil {
		s.Fatal(err)
	}
	return out
}

// mustDeliver makes a pass that must bring the member to the desired state.
func (s *site) mustDeliver(w *Desired) {
	s.Helper()
	if out := s.mustPush(w); !out.Done {
		s.Fatalf("the push is not done: %s %s: %s", out.State, out.Reason, out.Message)
	}
}

// mustFail makes a pass that must end with this reason, and with these words in the message.
func (s *site) mustFail(w *Desired, reason string, words ...string) plan.Outcome {
	s.Helper()
	out := s.mustPush(w)
	if out.Done || out.Reason != reason {
		s.Fatalf("want %s, got done=%v %s %s: %s", reason, out.Done, out.State, out.Reason, out.Message)
	}
	for _, word := range words {
		if !strings.Contains(out.Message, word) {
			s.Errorf("the message lacks %q: %s", word, out.Message)
		}
	}
	return out
}

// eventually makes passes until the member has the desired state.
func (s *site) eventually(w *Desired) {
	s.Helper()
	var last string
	s.await("the push is done", func(ctx context.Context) bool {
		out, err := (&pass{conn: s.conn, want: w, seals: s.seals}).run(ctx)
		last = fmt.Sprint(out.Reason, " ", out.Message, " ", err)
		return err == nil && out.Done
	}, &last)
}

func (s *site) await(what string, is func(context.Context) bool, last ...*string) {
	s.Helper()
	err := wait.PollUntilContextTimeout(s.Context(), 50*time.Millisecond, 30*time.Second, true,
		func(ctx context.Context) (bool, error) { return is(ctx), nil })
	if err != nil {
		for _, l := range last {
			what += ": " + *l
		}
		s.Fatalf("%s: %v", what, err)
	}
}

func configMap(name, value string) string {
	return fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: %s}, data: {value: %q}}", name, value)
}
