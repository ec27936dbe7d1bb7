// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"crypto/tls"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/config"
	"github.com/fairlead-dev/fairlead/controllers"
	"github.com/fairlead-dev/fairlead/internal/join"
	"github.com/fairlead-dev/fairlead/internal/join/steps"
	"github.com/fairlead-dev/fairlead/internal/sandbox"
	"github.com/fairlead-dev/fairlead/internal/testing/audit"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
	"github.com/fairlead-dev/fairlead/internal/testing/plane"
)

var shared = plane.New(sandbox.Options{Name: "test-install", Members: 1, Audit: true}, nil)

func TestMain(m *testing.M) {
	ctrl.SetLogger(zap.New(zap.WriteTo(written)))
	os.Exit(shared.Main(m))
}

// written has what the manager of the test process logs.
var written = &logLines{}

// logLines keeps the lines of a log.
type logLines struct {
	mu    sync.Mutex
	lines []string
}

// Write keeps the line. It implements io.Writer; a logger writes one line at a time.
func (l *logLines) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, string(line))
	return len(line), nil
}

// find returns the first line that contains this word, or "".
func (l *logLines) find(word string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.lines {
		if strings.Contains(line, word) {
			return line
		}
	}
	return ""
}

const (
	accountName = "fairlead-manager"
	accountUser = "system:serviceaccount:" + v1alpha1.SystemNamespace + ":" + accountName
)

// TestTheManagersRoleIsEnough runs the manager with a token of its service account, and makes the manager send every kind of
// request: for a join, a wrapper of each scope, a change, an approval, deletions and an unjoin. No request may be
// forbidden. Every permission has to be used, except those in notTried.
func TestTheManagersRoleIsEnough(t *testing.T) {
	box := shared.Sandbox(t)
	admin, host := connect(t, box, sandbox.HostName)
	remote, member := connect(t, box, sandbox.MemberName(1))
	apply(t, host, config.CRD, config.RBAC)
	// The manager of another test may have created these objects. Delete them, so that this test's manager needs its
	// permission to create them.
	for _, kind := range []client.Object{&corev1.Secret{}, &coordinationv1.Lease{}} {
		if err := host.DeleteAllOf(t.Context(), kind, client.InNamespace(v1alpha1.SystemNamespace)); err != nil {
			t.Fatal(err)
		}
	}
	mark := shared.AuditMark(t, sandbox.HostName)

	stop := runManager(t, tokenConfig(t, admin, host), serving(t, box))
	registerWebhooks(t, host, "https://127.0.0.1:"+strconv.Itoa(webhookPort(t, box, "webhook")), authority(t, box))
	joinMember(t, admin, remote)
	useEverything(t, host, member)
	registerByHand(t, host)
	stop()
	if line := written.find("forbidden"); line != "" {
		t.Errorf("the manager logs: %s", line)
	}

	own := func(r audit.Request) bool { return r.User.Username == accountUser }
	all, err := mark.Requests(own)
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, r := range all {
		if r.Response.Code == http.StatusForbidden {
			t.Errorf("forbidden: %s (%s)", r.What(), r.URI)
		}
		used[permission(r.Verb, r.Object.APIGroup, r.Object.Resource, r.Object.Subresource)] = true
	}
	for _, p := range sometimesUsed {
		delete(used, p)
	}
	var unused []string
	for _, p := range granted(t) {
		if !used[p] {
			unused = append(unused, p)
		}
	}
	if diff := cmp.Diff(notTried, unused); diff != "" {
		t.Errorf("permissions of the manager that no request used (-known +found):\n%s", diff)
	}
}

// sometimesUsed are permissions in notTried that requests of this test use on a slow machine.
var sometimesUsed = []string{"patch events.k8s.io events"}

// notTried are the manager's permissions that no request of this test uses. The comments tell when the manager needs them.
var notTried = []string{
	// No member of this test shows evidence of an unhealthy object. TestAReportAppearsAndGoes sends these requests.
	"create federation.fairlead.dev memberreports",
	"delete federation.fairlead.dev memberreports",
	"get apps controllerrevisions", // to find the revision that it created just before a crash, whose name is not in the status yet
	// An informer begins with a watch that sends the present objects, so this test sees no list. The informer lists after a
	// failure, and at API servers without WatchList. The permission get gives access to nothing that list does not show.
	"get federation.fairlead.dev approvals",
	"get federation.fairlead.dev clusterfederateds",
	"get federation.fairlead.dev federateds",
	"get federation.fairlead.dev memberclusters",
	"get federation.fairlead.dev memberreports", // after a restart, a report that the manager wrote before it
	"list  secrets",
	"list federation.fairlead.dev approvals",
	"list federation.fairlead.dev clusterfederateds",
	"list federation.fairlead.dev federateds",
	"list federation.fairlead.dev memberclusters",
	"list federation.fairlead.dev memberreports",
	"patch apps controllerrevisions", // to note the user who writes the content of an earlier revision again
	"patch events.k8s.io events",     // to make a series of an event that repeats
	"patch federation.fairlead.dev memberreports/status",
	"update  secrets", // to renew a token, a day after its creation
	// The admission plugin OwnerReferencesPermissionEnforcement, which is off by default, needs these permissions.
	"update federation.fairlead.dev clusterfederateds/finalizers",
	"update federation.fairlead.dev federateds/finalizers",
}

// granted returns the permissions of the manager's roles, sorted.
func granted(t *testing.T) (all []string) {
	t.Helper()
	objects, err := config.Objects(config.RBAC)
	if err != nil {
		t.Fatal(err)
	}
	for _, obj := range objects {
		if obj.GetName() != accountName || obj.GetKind() != "ClusterRole" && obj.GetKind() != "Role" {
			continue
		}
		role := rbacv1.ClusterRole{}
		if err := convert(obj, &role); err != nil {
			t.Fatal(err)
		}
		for _, rule := range role.Rules {
			for _, resource := range rule.Resources {
				name, sub, _ := strings.Cut(resource, "/")
				for _, verb := range rule.Verbs {
					all = append(all, permission(verb, rule.APIGroups[0], name, sub))
				}
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func permission(verb, group, resource, sub string) string {
	if sub != "" {
		resource += "/" + sub
	}
	return strings.Join([]string{verb, group, resource}, " ")
}

// useEverything makes the manager send every kind of request that it can send within a few minutes.
func useEverything(t *testing.T, host, member client.Client) {
	t.Helper()
	const namespace = "shop"
	create(t, host, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})

	wrapper := build.Federated("storefront").In(namespace).With(build.ConfigMap("storefront", "v", "0"), build.Claim("data")).To("east").Obj()
	create(t, host, wrapper)
	classes := build.ClusterFederated("classes").With(build.StorageClass("fast")).To("east").Obj()
	create(t, host, classes)
	eventually(t, "the objects are on the member", func(ctx context.Context) bool {
		return member.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "storefront"}, &corev1.ConfigMap{}) == nil &&
			isReady(ctx, host, classes, &classes.Status.Conditions)
	})

	// There are more changes than the revisions that the manager keeps, so it has to delete a revision.
	for range 12 {
		before := wrapper.Status.UpdateRevision
		eventually(t, "the wrapper is changed", func(ctx context.Context) bool {
			if host.Get(ctx, client.ObjectKeyFromObject(wrapper), wrapper) != nil {
				return false
			}
			wrapper.Spec.Objects[0] = build.Raw(build.ConfigMap("storefront", "v", metav1.Now().Format(time.RFC3339Nano)))
			return host.Update(ctx, wrapper) == nil
		})
		eventually(t, "there is a revision", func(ctx context.Context) bool {
			return host.Get(ctx, client.ObjectKeyFromObject(wrapper), wrapper) == nil && wrapper.Status.UpdateRevision != before
		})
	}

	// After the deletion of the wrapper, the claim stays on the member, and the manager sends an event about that.
	remove(t, host, wrapper)
	remove(t, host, classes)
	east := &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "east"}}
	remove(t, host, east)
	eventually(t, "the credentials are gone", func(ctx context.Context) bool {
		return apierrors.IsNotFound(host.Get(ctx, client.ObjectKey{Namespace: v1alpha1.SystemNamespace, Name: "east"}, &corev1.Secret{}))
	})
}

// registerByHand creates a MemberCluster without a join. Only then does the manager itself add the finalizer.
func registerByHand(t *testing.T, host client.Client) {
	t.Helper()
	west := &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "west"}, Spec: v1alpha1.MemberClusterSpec{Endpoint: "https://127.0.0.1:1"}}
	west.Spec.CredentialsRef.Name = "west"
	create(t, host, west)
	eventually(t, "it has the finalizer", func(ctx context.Context) bool {
		return host.Get(ctx, client.ObjectKeyFromObject(west), west) == nil && len(west.Finalizers) > 0
	})
}

func isReady(ctx context.Context, host client.Client, obj client.Object, conditions *[]metav1.Condition) bool {
	return host.Get(ctx, client.ObjectKeyFromObject(obj), obj) == nil && meta.IsStatusConditionTrue(*conditions, v1alpha1.ConditionReady)
}

func create(t *testing.T, c client.Client, obj client.Object) {
	t.Helper()
	eventually(t, "creating "+obj.GetName(), func(ctx context.Context) bool {
		err := c.Create(ctx, obj)
		if err != nil {
			t.Logf("creating %s: %v", obj.GetName(), err)
		}
		return err == nil || apierrors.IsAlreadyExists(err)
	})
}

func remove(t *testing.T, c client.Client, obj client.Object) {
	t.Helper()
	if err := c.Delete(t.Context(), obj); err != nil {
		t.Fatal(err)
	}
	eventually(t, obj.GetName()+" is gone", func(ctx context.Context) bool {
		return apierrors.IsNotFound(c.Get(ctx, client.ObjectKeyFromObject(obj), obj))
	})
}

func joinMember(t *testing.T, host, remote *rest.Config) {
	t.Helper()
	_, err := join.Join(t.Context(), host, remote, join.Options{
		Name: "east", Allow: []string{"any"}, Namespaces: v1alpha1.NamespacesAll, DefaultHostName: "test", Wait: time.Minute,
	}, func(steps.Step) {})
	if err != nil {
		t.Fatal(err)
	}
}

// runManager runs the manager in this process, with the same set-up as cmd/manager.
func runManager(t *testing.T, as *rest.Config, server webhook.Server, prepare ...func(context.Context, manager.Manager) error) (stop func()) {
	t.Helper()
	again := true
	ctx, cancel := context.WithCancel(t.Context())
	mgr, err := controllers.NewManager(ctx, as, ctrl.Options{
		Metrics:                       metricsserver.Options{BindAddress: "0"},
		HealthProbeBindAddress:        "0",
		WebhookServer:                 server,
		LeaderElection:                true,
		LeaderElectionID:              "fairlead-manager",
		LeaderElectionNamespace:       v1alpha1.SystemNamespace,
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 new(30 * time.Second),
		RenewDeadline:                 new(20 * time.Second),
		RetryPeriod:                   new(2 * time.Second),
		Controller:                    ctrlconfig.Controller{SkipNameValidation: &again},
	}, controllers.Options{Version: "test", SharesIntents: true, Clock: clock.RealClock{}})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range prepare {
		if err := f(ctx, mgr.GetLocalManager()); err != nil {
			t.Fatal(err)
		}
	}
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the manager ended with: %v", err)
		}
	}
}

// tokenConfig returns the configuration of a pod that runs as the manager's service account.
func tokenConfig(t *testing.T, admin *rest.Config, host client.Client) *rest.Config {
	t.Helper()
	request := &authenticationv1.TokenRequest{}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: accountName}}
	if err := host.SubResource("token").Create(t.Context(), account, request); err != nil {
		t.Fatal(err)
	}
	as := rest.AnonymousClientConfig(admin)
	as.BearerToken, as.QPS = request.Status.Token, -1
	return as
}

// serving returns a webhook server that serves the sandbox's certificate.
func serving(t *testing.T, box *sandbox.Sandbox) webhook.Server {
	t.Helper()
	c, err := box.Cluster(sandbox.HostName)
	if err != nil {
		t.Fatal(err)
	}
	cert, key, _ := c.ServingPair()
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	return webhook.NewServer(webhook.Options{Host: "127.0.0.1", Port: webhookPort(t, box, "webhook"), TLSOpts: []func(*tls.Config){func(c *tls.Config) {
		c.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &pair, nil }
	}}})
}

func webhookPort(t *testing.T, box *sandbox.Sandbox, name string) int {
	t.Helper()
	port, err := box.Port(t.Context(), sandbox.HostName, name)
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// authority returns the sandbox's certificate authority, which signed the certificate of serving.
func authority(t *testing.T, box *sandbox.Sandbox) []byte {
	t.Helper()
	c, err := box.Cluster(sandbox.HostName)
	if err != nil {
		t.Fatal(err)
	}
	_, _, authority := c.ServingPair()
	ca, err := os.ReadFile(authority)
	if err != nil {
		t.Fatal(err)
	}
	return ca
}

// registerWebhooks makes the API server call the webhooks at the URL base, with trust in ca.
func registerWebhooks(t *testing.T, host client.Client, base string, ca []byte) {
	t.Helper()
	objects, err := config.Objects(config.Webhook)
	if err != nil {
		t.Fatal(err)
	}
	for _, obj := range objects {
		if err := config.PointWebhooks(obj, base, ca); err != nil {
			t.Fatal(err)
		}
		applyOne(t, host, obj)
	}
}
