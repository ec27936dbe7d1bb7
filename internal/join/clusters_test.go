// SPDX-License-Identifier: Apache-2.0

package join_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/config"
	"github.com/fairlead-dev/fairlead/internal/join"
	"github.com/fairlead-dev/fairlead/internal/join/cluster"
	"github.com/fairlead-dev/fairlead/internal/join/steps"
	"github.com/fairlead-dev/fairlead/internal/sandbox"
	"github.com/fairlead-dev/fairlead/internal/testing/plane"
)

// planes are the clusters of the tests: in each sandbox a host and two members without Fairlead. Two tests run at the same time, each in
// a sandbox of its own. Most of a join is a wait for the member's API server: until it serves the CRDs, enforces the policy,
// and forgets a token. So one test alone would leave the processors idle.
var planes = []*plane.Plane{
	plane.New(sandbox.Options{Name: "test-join", Members: 2, Audit: true}, nil),
	plane.New(sandbox.Options{Name: "test-join-2", Members: 2, Audit: true}, nil),
}

// free has the planes that no test uses.
var free = make(chan *plane.Plane, len(planes))

func TestMain(m *testing.M) {
	for _, p := range planes {
		free <- p
	}
	os.Exit(plane.Main(m, planes...))
}

// fleet is the host and the members of one test.
type fleet struct {
	*plane.Plane
	hostConfig, eastConfig, westConfig *rest.Config
	host, east, west                   client.Client
}

// newFleet returns a fleet that belongs to the test until it ends. The test runs in parallel with other tests from then on.
func newFleet(t *testing.T) *fleet {
	t.Helper()
	t.Parallel()
	f := &fleet{Plane: <-free}
	t.Cleanup(func() { free <- f.Plane }) // runs after the cleanups of the test, which make the clusters clean
	box := f.Sandbox(t)
	f.hostConfig, f.host = connect(t, box, sandbox.HostName)
	f.eastConfig, f.east = connect(t, box, sandbox.MemberName(1))
	f.westConfig, f.west = connect(t, box, sandbox.MemberName(2))
	makeHost(t, f.host)
	return f
}

func connect(t *testing.T, box *sandbox.Sandbox, name string) (*rest.Config, client.Client) {
	t.Helper()
	cfg, err := box.RESTConfig(name)
	if err != nil {
		t.Fatal(err)
	}
	cfg.QPS = -1
	return cfg, clientFor(t, cfg)
}

func clientFor(t *testing.T, cfg *rest.Config) client.Client {
	t.Helper()
	c, err := client.New(cfg, client.Options{Scheme: cluster.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// makeHost installs on a cluster the objects that a join needs on the host.
func makeHost(t *testing.T, c client.Client) {
	t.Helper()
	const name = "memberclusters." + v1alpha1.Group
	crd, err := config.CustomResourceDefinition(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Apply(within(t), client.ApplyConfigurationFromUnstructured(crd), client.FieldOwner("test"), client.ForceOwnership); err != nil {
		t.Fatal(err)
	}
	there := &apiextensionsv1.CustomResourceDefinition{}
	eventually(t, "CRD "+name+" is served", func(ctx context.Context) bool {
		return c.Get(ctx, types.NamespacedName{Name: name}, there) == nil && established(there)
	})
}

func established(crd *apiextensionsv1.CustomResourceDefinition) bool {
	return slices.ContainsFunc(crd.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
		return c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue
	})
}

// join joins a cluster and returns the result and the steps.
func (f *fleet) join(t *testing.T, member *rest.Config, opts join.Options) (*join.Result, []steps.Step, error) {
	t.Helper()
	if opts.DefaultHostName == "" {
		opts.DefaultHostName = "prod"
	}
	var reported []steps.Step
	r, err := join.Join(within(t), f.hostConfig, member, opts, func(s steps.Step) { reported = append(reported, s) })
	return r, reported, err
}

func (f *fleet) mustJoin(t *testing.T, member *rest.Config, opts join.Options) *join.Result {
	t.Helper()
	r, _, err := f.join(t, member, opts)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// leave unjoins with the administrator's rights, and waits until all objects of Fairlead are gone.
func (f *fleet) leave(t *testing.T, member *rest.Config, name string) {
	t.Helper()
	opts := join.UnjoinOptions{Name: name, Wait: time.Minute}
	if err := join.Unjoin(within(t), f.hostConfig, member, opts, func(steps.Step) {}); err != nil {
		t.Fatal(err)
	}
	f.awaitClean(t, clientFor(t, member))
}

// asHost returns a client for a member that uses the credentials in the Secret at the host, as the manager does.
func (f *fleet) asHost(t *testing.T, name string) client.Client {
	t.Helper()
	secret := &corev1.Secret{}
	if err := f.host.Get(within(t), types.NamespacedName{Namespace: v1alpha1.SystemNamespace, Name: name}, secret); err != nil {
		t.Fatal(err)
	}
	return clientFor(t, &rest.Config{
		Host: string(secret.Data[v1alpha1.SecretEndpoint]), BearerToken: string(secret.Data[v1alpha1.SecretToken]), QPS: -1,
		TLSClientConfig: rest.TLSClientConfig{CAData: secret.Data[v1alpha1.SecretCA]},
	})
}

// ours returns Fairlead's objects on a cluster, each with its resourceVersion; "" if the object is being deleted.
func ours(t *testing.T, c client.Client) map[string]string {
	t.Helper()
	found := map[string]string{}
	note := func(obj client.Object) { found[cluster.Describe(obj)] = obj.GetResourceVersion() }
	for _, list := range []client.ObjectList{
		&rbacv1.ClusterRoleList{}, &rbacv1.ClusterRoleBindingList{}, &rbacv1.RoleList{}, &rbacv1.RoleBindingList{},
		&corev1.ServiceAccountList{}, &corev1.SecretList{}, &corev1.NamespaceList{}, &apiextensionsv1.CustomResourceDefinitionList{},
		&v1alpha1.MembershipList{}, &v1alpha1.MemberClusterList{}, &v1alpha1.DeliveryList{},
		&admissionregistrationv1.ValidatingAdmissionPolicyList{}, &admissionregistrationv1.ValidatingAdmissionPolicyBindingList{},
	} {
		if err := c.List(within(t), list); err != nil && !cluster.Absent(err) {
			t.Fatal(err)
		}
		for _, obj := range items(t, list) {
			if isFairleads(obj) {
				note(obj)
			}
		}
	}
	return found
}

func (f *fleet) awaitClean(t *testing.T, c client.Client) {
	t.Helper()
	var left map[string]string
	defer func() {
		if t.Failed() {
			t.Logf("left: %v", left)
		}
	}()
	eventually(t, "nothing of Fairlead is left on the member", func(ctx context.Context) bool {
		if err := plane.FinishNamespace(ctx, c, v1alpha1.SystemNamespace); err != nil {
			t.Fatal(err)
		}
		left = ours(t, c)
		return len(left) == 0
	})
}

func eventually(t *testing.T, what string, is func(context.Context) bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(within(t), 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) { return is(ctx), nil })
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// within returns a context that stays valid in the test's cleanup functions.
func within(t *testing.T) context.Context { return context.WithoutCancel(t.Context()) }

// unsigned returns a token with these claims. It has no valid signature, so no API server accepts it.
func unsigned(account types.UID, issued, expires time.Time) string {
	return "e30." + base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil,
		`{"iat":%d,"exp":%d,"kubernetes.io":{"serviceaccount":{"uid":%q}}}`, issued.Unix(), expires.Unix(), account)) + ".c2ln"
}
