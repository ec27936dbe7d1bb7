// SPDX-License-Identifier: Apache-2.0

package join_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/join"
	"github.com/fairlead-dev/fairlead/internal/join/cluster"
	"github.com/fairlead-dev/fairlead/internal/join/permissions"
	"github.com/fairlead-dev/fairlead/internal/join/steps"
	"github.com/fairlead-dev/fairlead/internal/testing/errortext"
)

func items(t *testing.T, list client.ObjectList) []client.Object {
	t.Helper()
	all, err := meta.ExtractList(list)
	if err != nil {
		t.Fatal(err)
	}
	var objects []client.Object
	for _, o := range all {
		objects = append(objects, o.(client.Object))
	}
	return objects
}

// isFairleads reports whether the object is one that joins create, or a CRD that joins install on members.
func isFairleads(obj client.Object) bool {
	if _, ok := obj.(*v1alpha1.MemberCluster); ok {
		return true
	}
	return obj.GetNamespace() == v1alpha1.SystemNamespace && obj.GetName() != "default" || obj.GetName() == v1alpha1.SystemNamespace ||
		strings.HasPrefix(obj.GetName(), "fairlead-") || slices.Contains([]string{permissions.CRDDeliveries, permissions.CRDMemberships, v1alpha1.MembershipName}, obj.GetName())
}

func TestADryRunWritesNothing(t *testing.T) {
	f := newFleet(t)
	before := ours(t, f.east)
	_, reported, err := f.join(t, f.eastConfig, join.Options{Name: "east", DryRun: true})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, ours(t, f.east)); diff != "" {
		t.Errorf("the member was written to: %s", diff)
	}
	if m, err := join.FindMember(within(t), f.host, "east"); m != nil || err != nil {
		t.Errorf("the host was written to: %v %v", m, err)
	}
	if !slices.ContainsFunc(reported, func(s steps.Step) bool { return s.Outcome == steps.Created && s.What == "host: MemberCluster east" }) {
		t.Errorf("it does not say what it would do: %v", reported)
	}
}

func TestASecondJoinWritesNothingAndKeepsTheSettings(t *testing.T) {
	f := newFleet(t)
	first := f.mustJoin(t, f.eastConfig, join.Options{Name: "east", Allow: []string{"core", "example.com/widgets"}, Namespaces: v1alpha1.NamespacesAll,
		Collector: v1alpha1.CollectorExternal, Labels: map[string]string{"env": "production"}})
	t.Cleanup(func() { f.leave(t, f.eastConfig, "east") })
	if first.Changes == 0 || time.Until(first.TokenExpires) < time.Hour {
		t.Errorf("the first join: %+v", first)
	}
	eventually(t, "the aggregated roles are filled", func(ctx context.Context) bool {
		role := &rbacv1.ClusterRole{}
		return f.east.Get(ctx, types.NamespacedName{Name: permissions.HostAccount + "-aggregated"}, role) == nil && role.AggregationRule != nil
	})
	m := &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "east"}}
	if err := f.host.Patch(within(t), m, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"by":"hand"}},"spec":{"suspend":"Pushes"}}`))); err != nil {
		t.Fatal(err)
	}
	east, host := ours(t, f.east), ours(t, f.host)

	again, reported, err := f.join(t, f.eastConfig, join.Options{Name: "east", DefaultHostName: "other name"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(east, ours(t, f.east)); diff != "" || again.Changes != 0 {
		t.Errorf("the member was written to: %s\n%v", diff, reported)
	}
	if diff := cmp.Diff(host, ours(t, f.host)); diff != "" {
		t.Errorf("the host was written to: %s", diff)
	}
	first.Changes = 0
	if diff := cmp.Diff(first, again); diff != "" {
		t.Errorf("the second result differs: %s", diff)
	}
	if err := f.host.Get(within(t), client.ObjectKeyFromObject(m), m); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"env": "production", "by": "hand"}, m.Labels); diff != "" {
		t.Errorf("labels: %s", diff)
	}
}

func TestTheHostsAccountHoldsWhatWasGrantedAndNoMore(t *testing.T) {
	f := newFleet(t)
	t.Cleanup(func() { f.leave(t, f.eastConfig, "east") })
	for _, round := range []struct {
		allow []string
		can   map[string]bool
	}{
		{allow: nil, can: map[string]bool{
			"create configmaps shop": true, "delete apps/deployments shop": true, "patch storage.k8s.io/storageclasses": true,
			"patch operators.coreos.com/installplans shop": true, "create namespaces": true, "delete namespaces": false,
			"get secrets shop": false, "create rbac.authorization.k8s.io/roles shop": false, "list pods shop": false, "create pods shop": false, "list events shop": false,
			"create operators.coreos.com/clusterserviceversions shop": false, "patch operators.coreos.com/catalogsources shop": false,
			"create persistentvolumes": false, "update federation.fairlead.dev/memberships": false,
			"get namespaces": true, "create federation.fairlead.dev/deliveries fairlead-system": true, "create federation.fairlead.dev/deliveries shop": false,
			"get secrets fairlead-system": false, "list secrets fairlead-system": false, "delete secrets fairlead-system": false,
			"create secrets fairlead-system": true, "create secrets shop": false, "impersonate users": false, "list nodes": false, "create example.com/widgets shop": false,
		}},
		{allow: []string{"core", "secrets", "example.com/widgets"}, can: map[string]bool{
			"create configmaps shop": true, "patch storage.k8s.io/storageclasses": false, "patch operators.coreos.com/installplans shop": false,
			"get secrets shop": true, "create example.com/widgets shop": true, "create rbac.authorization.k8s.io/roles shop": false,
		}},
		{allow: []string{"any"}, can: map[string]bool{
			"get secrets shop": true, "create example.com/widgets shop": true, "escalate rbac.authorization.k8s.io/roles shop": true, "deletecollection pods shop": true,
		}},
		{allow: []string{"core"}, can: map[string]bool{
			"get secrets shop": false, "create example.com/widgets shop": false, "deletecollection pods shop": false, "create services shop": true,
		}},
	} {
		f.mustJoin(t, f.eastConfig, join.Options{Name: "east", Allow: round.allow})
		account := f.asHost(t, "east")
		for question, want := range round.can {
			eventually(t, question+": "+map[bool]string{true: "allowed", false: "denied"}[want]+" under "+strings.Join(round.allow, ","), func(ctx context.Context) bool {
				review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: attributes(question)}}
				return account.Create(ctx, review) == nil && review.Status.Allowed == want
			})
		}
	}
}

// attributes reads "VERB [GROUP/]RESOURCE [NAMESPACE]".
func attributes(question string) *authorizationv1.ResourceAttributes {
	words := strings.Fields(question)
	a := &authorizationv1.ResourceAttributes{Verb: words[0], Resource: words[1]}
	if group, resource, ok := strings.Cut(words[1], "/"); ok {
		a.Group, a.Resource = group, resource
	}
	if len(words) > 2 {
		a.Namespace = words[2]
	}
	return a
}

func TestAJoinRepairsAMember(t *testing.T) {
	f := newFleet(t)
	f.mustJoin(t, f.eastConfig, join.Options{Name: "east"})
	t.Cleanup(func() { f.leave(t, f.eastConfig, "east") })
	secret := types.NamespacedName{Namespace: v1alpha1.SystemNamespace, Name: "east"}
	now := time.Now()
	account := func(t *testing.T) types.UID {
		sa := cluster.ServiceAccount(permissions.HostAccount)
		if err := f.east.Get(within(t), client.ObjectKeyFromObject(sa), sa); err != nil {
			t.Fatal(err)
		}
		return sa.UID
	}
	for name, tc := range map[string]struct {
		harm func(t *testing.T)
		want string // the step that reports the repair
	}{
		"a role that somebody changed": {want: "cluster roles for core, storage, olm configured", harm: func(t *testing.T) {
			edit(t, f.east, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "fairlead-host-core"}}, func(r *rbacv1.ClusterRole) { r.Rules = r.Rules[:1] })
		}},
		"the role that all others belong to": {want: "cluster roles for core, storage, olm", harm: func(t *testing.T) {
			remove(t, f.east, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: permissions.HostAccount}})
		}},
		"an account that is gone, and with it every token": {want: "token of fairlead-host created (the host's token belongs to an earlier account", harm: func(t *testing.T) {
			remove(t, f.east, cluster.ServiceAccount(permissions.HostAccount))
		}},
		"a Membership that is gone": {want: "Membership of prod as east created", harm: func(t *testing.T) {
			remove(t, f.east, &v1alpha1.Membership{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.MembershipName}})
		}},
		"a Secret that is gone": {want: "token of fairlead-host created (the host has no token", harm: func(t *testing.T) {
			remove(t, f.host, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: secret.Namespace, Name: secret.Name}})
		}},
		"a token that has expired": {want: "token of fairlead-host created (the host's token expired on", harm: func(t *testing.T) {
			setToken(t, f.host, secret, unsigned(account(t), now.Add(-2*time.Hour), now.Add(-time.Hour)))
		}},
		"a token near its end": {want: "token of fairlead-host created (the host's token was issued on ", harm: func(t *testing.T) {
			setToken(t, f.host, secret, unsigned(account(t), now.Add(-2*time.Hour), now.Add(time.Hour/2)))
		}},
		"a token that nobody signed": {want: "token of fairlead-host created (the member no longer accepts the host's", harm: func(t *testing.T) {
			setToken(t, f.host, secret, unsigned(account(t), now, now.Add(time.Hour)))
		}},
		"a MemberCluster that was never written": {want: "host: MemberCluster east created", harm: func(t *testing.T) {
			m := &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "east"}}
			edit(t, f.host, m, func(m *v1alpha1.MemberCluster) { m.Finalizers = nil })
			remove(t, f.host, m)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			tc.harm(t)
			var said strings.Builder
			_, err := join.Join(within(t), f.hostConfig, f.eastConfig, join.Options{Name: "east", DefaultHostName: "prod"}, steps.Printer(&said, false))
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(said.String(), tc.want) {
				t.Errorf("want a step with %q, got:\n%s", tc.want, said.String())
			}
			if err := f.asHost(t, "east").Get(within(t), types.NamespacedName{Name: v1alpha1.MembershipName}, &v1alpha1.Membership{}); err != nil {
				t.Errorf("the host still does not get in: %v", err)
			}
		})
	}
}

func edit[T client.Object](t *testing.T, c client.Client, obj T, change func(T)) {
	t.Helper()
	if err := c.Get(within(t), client.ObjectKeyFromObject(obj), obj); err != nil {
		t.Fatal(err)
	}
	change(obj)
	if err := c.Update(within(t), obj); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, c client.Client, obj client.Object) {
	t.Helper()
	if err := c.Delete(within(t), obj); err != nil {
		t.Fatal(err)
	}
}

func setToken(t *testing.T, c client.Client, key types.NamespacedName, token string) {
	t.Helper()
	edit(t, c, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}, func(s *corev1.Secret) {
		s.Data[v1alpha1.SecretToken] = []byte(token)
	})
}

func TestRefusedJoinsNameTheCause(t *testing.T) {
	f := newFleet(t)
	f.mustJoin(t, f.eastConfig, join.Options{Name: "east"})
	t.Cleanup(func() { f.leave(t, f.eastConfig, "east") })
	makeHost(t, f.west)
	person := limited(t, f.west, f.westConfig)
	for name, tc := range map[string]struct {
		host, member *rest.Config
		opts         join.Options
		want         []string
	}{
		"a second host, with the name of the first": {host: f.westConfig, member: f.eastConfig, opts: join.Options{Name: "mine"},
			want: []string{`is a member of another host, "prod" (uid `, "run `hostctl unjoin east` at that host first"}},
		"a second name": {host: f.hostConfig, member: f.eastConfig, opts: join.Options{Name: "ost"},
			want: []string{"is a member of this host already, under the name east"}},
		"a host that is none": {host: f.eastConfig, member: f.westConfig, opts: join.Options{Name: "west"},
			want: []string{"does not serve MemberClusters, so it is not a host"}},
		"a person with too few rights": {host: f.hostConfig, member: person, opts: join.Options{Name: "west"},
			want: []string{"granting rights on member west: the user of the cluster's kubeconfig must hold every right"}},
		"a person with too few rights, in a dry run": {host: f.hostConfig, member: person, opts: join.Options{Name: "west", DryRun: true},
			want: []string{"granting rights on member west: the user of the cluster's kubeconfig must hold every right"}},
		"a credential that expired": {host: f.hostConfig, member: withToken(f.westConfig, "nonsense"), opts: join.Options{Name: "west"},
			want: []string{"reaching member west at ", "does not accept the credentials of the kubeconfig"}},
		"no credentials at all": {host: f.hostConfig, member: rest.AnonymousClientConfig(f.westConfig), opts: join.Options{Name: "west"},
			want: []string{"reaching member west at ", "Check that the kubeconfig holds credentials"}},
		"an address that is none": {host: f.hostConfig, member: &rest.Config{Host: "::nonsense::"}, opts: join.Options{Name: "west"},
			want: []string{"connecting to member west at ::nonsense::", "Check server, certificate-authority"}},
	} {
		t.Run(name, func(t *testing.T) {
			tc.opts.DefaultHostName = "second"
			_, err := join.Join(within(t), tc.host, tc.member, tc.opts, func(steps.Step) {})
			for _, want := range tc.want {
				if diff := errortext.Diff(want, err); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
	remove(t, f.west, crdOf("memberclusters."+v1alpha1.Group))
	eventually(t, "the second host is none any more", func(context.Context) bool {
		_, err := clientFor(t, f.westConfig).RESTMapper().RESTMapping(schema.GroupKind{Group: v1alpha1.Group, Kind: "MemberCluster"})
		return meta.IsNoMatchError(err)
	})
	f.leave(t, f.westConfig, "west") // removes what the join of the user with few rights had begun
}

// limited is a user who may write roles on a cluster, and little else.
func limited(t *testing.T, c client.Client, cfg *rest.Config) *rest.Config {
	t.Helper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "limited"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"", "rbac.authorization.k8s.io", "apiextensions.k8s.io"}, Resources: []string{"*"}, Verbs: []string{"get", "create", "update", "patch"}},
		{APIGroups: []string{v1alpha1.Group}, Resources: []string{"*"}, Verbs: []string{"get", "list"}},
	}}
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "limited"},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "limited"}, Subjects: []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: "limited"}}}
	for _, obj := range []client.Object{role, binding} {
		if err := c.Create(within(t), obj); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Delete(within(t), obj) })
	}
	as := rest.CopyConfig(cfg)
	as.Impersonate.UserName = "limited"
	return as
}

func withToken(cfg *rest.Config, token string) *rest.Config {
	with := rest.AnonymousClientConfig(cfg)
	with.BearerToken = token
	return with
}

func TestAJoinWaitsUntilTheHostCallsTheMemberReady(t *testing.T) {
	f := newFleet(t)
	t.Cleanup(func() { f.leave(t, f.eastConfig, "east") })
	var notReady *join.NotReadyError
	r, _, err := f.join(t, f.eastConfig, join.Options{Name: "east", Wait: 300 * time.Millisecond})
	if !errors.As(err, &notReady) || r == nil || notReady.Reason != "" {
		t.Fatalf("without a manager: %v", err)
	}
	judge := func(status metav1.ConditionStatus) {
		m, err := join.FindMember(within(t), f.host, "east")
		if err != nil {
			t.Fatal(err)
		}
		meta.SetStatusCondition(&m.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionReady, Status: status, Reason: v1alpha1.ReasonUnreachable,
			Message: "no route", ObservedGeneration: m.Generation})
		if err := f.host.Status().Update(within(t), m); err != nil {
			t.Fatal(err)
		}
	}
	judge(metav1.ConditionFalse)
	_, _, err = f.join(t, f.eastConfig, join.Options{Name: "east", Wait: 300 * time.Millisecond})
	if diff := errortext.Diff("member east is registered, but not Ready: Unreachable: no route", err); diff != "" {
		t.Error(diff)
	}
	judge(metav1.ConditionTrue)
	if _, _, err = f.join(t, f.eastConfig, join.Options{Name: "east", Wait: 300 * time.Millisecond}); err != nil {
		t.Error(err)
	}
}
