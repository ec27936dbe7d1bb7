// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"errors"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/config"
	"github.com/fairlead-dev/fairlead/internal/join"
	"github.com/fairlead-dev/fairlead/internal/join/steps"
	"github.com/fairlead-dev/fairlead/internal/sandbox"
	"github.com/fairlead-dev/fairlead/internal/testing/plane"
)

// members are the names of the fleet's members.
var members = []string{"east", "west"}

var shared = plane.New(sandbox.Options{Name: "test-faults", Members: len(members)}, nil)

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	os.Exit(shared.Main(m))
}

// proxiedFleet is a host and its members. The manager and the collectors reach them through proxies; the test's own
// clients bypass the proxies.
type proxiedFleet struct {
	// past is a client configuration for the host that bypasses the host's proxy.
	past    *rest.Config
	host    client.Client
	members map[string]client.Client
	// manager is the manager's configuration for the host. collectors are the collectors' configurations for the members.
	manager    *rest.Config
	collectors map[string]*rest.Config
	// proxies are the proxies of the members.
	proxies map[string]*proxy
	// heartbeats is the time with which awaitHeartbeats was last called: each collector has written a heartbeat since then.
	heartbeats time.Time
	// mortal starts the program under test: the manager or a collector. The parameter e tells how its life ends.
	mortal func(t *testing.T, e end) *life
}

// built is the fleet that all tests of this package share. The first test builds it.
var built *proxiedFleet

// newFleet joins the members of the shared fleet with this collector mode. When it returns, no wrapper exists, and no program
// of Fairlead runs.
func newFleet(t *testing.T, mode v1alpha1.CollectorMode) *proxiedFleet {
	t.Helper()
	if built == nil {
		built = raise(t)
	}
	f, began := built, time.Now()
	defer born(t, manager, f.manager, end{}).kill()
	for _, name := range members {
		if mode == v1alpha1.CollectorExternal {
			defer born(t, collector, f.collectors[name], end{}).kill()
		}
		options := join.Options{
			Name: name, Allow: []string{"any"}, Namespaces: v1alpha1.NamespacesAll, Collector: mode,
			DefaultHostName: "faults", Wait: time.Minute,
		}
		if _, err := join.Join(t.Context(), f.past, f.collectors[name], options, func(steps.Step) {}); err != nil {
			t.Fatal(err)
		}
	}
	f.awaitHeartbeats(t, began)
	return f
}

// awaitHeartbeats waits until the collector of each member has written a heartbeat after the time since. The manager leaves
// out an intent only after it has read a recent heartbeat, so without this wait every push would begin with an intent. A
// collector writes its first heartbeat seconds after its start, and most lives in these tests are shorter than that.
func (f *proxiedFleet) awaitHeartbeats(t *testing.T, since time.Time) {
	t.Helper()
	f.eventually(t, "new heartbeats of the collectors", func(ctx context.Context) string {
		for _, name := range members {
			ship := &v1alpha1.Membership{}
			if err := f.members[name].Get(ctx, client.ObjectKey{Name: v1alpha1.MembershipName}, ship); err != nil {
				return err.Error()
			}
			if !ship.Status.RenewTime.After(since) {
				return name + " has none"
			}
		}
		return ""
	})
	f.heartbeats = since
}

// raise starts a proxy in front of each cluster of the sandbox, and installs Fairlead on the host.
func raise(t *testing.T) *proxiedFleet {
	t.Helper()
	box := shared.Sandbox(t)
	connect := func(name string) (*rest.Config, client.Client) {
		cfg, err := box.RESTConfig(name)
		if err != nil {
			t.Fatal(err)
		}
		cfg.QPS, cfg.WarningHandler = -1, rest.NoWarnings{}
		c, err := client.New(cfg, client.Options{Scheme: scheme(t)})
		if err != nil {
			t.Fatal(err)
		}
		return cfg, c
	}
	hostConfig, host := connect(sandbox.HostName)
	f := &proxiedFleet{
		past: hostConfig, host: host, members: map[string]client.Client{}, collectors: map[string]*rest.Config{}, proxies: map[string]*proxy{},
	}
	f.manager = newProxy(t, hostConfig, decide).config("")
	f.install(t)
	for i, name := range members {
		cfg, c := connect(sandbox.MemberName(i + 1))
		f.members[name] = c
		f.proxies[name] = newProxy(t, cfg, decide)
		f.collectors[name] = f.proxies[name].config(adminToken(t, c))
	}
	return f
}

// install makes the cluster a host: it creates the CRDs and the namespace fairlead-system, and waits until the API server
// serves the kinds.
func (f *proxiedFleet) install(t *testing.T) {
	t.Helper()
	objects, err := config.Objects(config.CRD)
	if err != nil {
		t.Fatal(err)
	}
	system := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.SystemNamespace}}
	if err := f.host.Create(t.Context(), system); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	for _, obj := range objects {
		if err := f.host.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(obj), client.FieldOwner("test"), client.ForceOwnership); err != nil {
			t.Fatal(err)
		}
	}
	f.eventually(t, "the kinds are served", func(ctx context.Context) string {
		for _, list := range []client.ObjectList{&v1alpha1.FederatedList{}, &v1alpha1.ClusterFederatedList{}, &v1alpha1.MemberClusterList{}} {
			if err := f.host.List(ctx, list); err != nil {
				return err.Error()
			}
		}
		return ""
	})
}

func scheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(s), v1alpha1.AddToScheme(s)); err != nil {
		t.Fatal(err)
	}
	return s
}

// adminToken returns a token of a cluster administrator. A client certificate would not do: the proxy terminates TLS, so the
// API server never sees the certificate.
func adminToken(t *testing.T, c client.Client) string {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "faults-admin"}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: account.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: account.Namespace, Name: account.Name}},
	}
	for _, obj := range []client.Object{account, binding} {
		if err := c.Create(t.Context(), obj); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
	}
	day := int64(24 * 60 * 60) // the default of one hour is over before `make crash` ends
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &day}}
	if err := c.SubResource("token").Create(t.Context(), account, request); err != nil {
		t.Fatal(err)
	}
	return request.Status.Token
}

// settleWithin bounds the time until a fleet reaches the expected state, with the backoffs after a death.
const settleWithin = time.Minute

// eventually calls the function ok every 20 ms until that function returns "". After settleWithin, eventually fails the test with the
// last text that the function returned.
func (f *proxiedFleet) eventually(t *testing.T, what string, ok func(context.Context) string) {
	t.Helper()
	last, mu := "nothing", sync.Mutex{}
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, settleWithin, true, func(ctx context.Context) (bool, error) {
		mu.Lock()
		defer mu.Unlock()
		if is := ok(ctx); ctx.Err() == nil { // an answer that the deadline cut off would hide the last real one
			last = is
		}
		return last == "", nil
	})
	if err != nil {
		t.Fatalf("waited for: %s; not so within %s: %s", what, settleWithin, last)
	}
}
