// SPDX-License-Identifier: Apache-2.0

package join_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/join"
	"github.com/fairlead-dev/fairlead/internal/join/cluster"
	"github.com/fairlead-dev/fairlead/internal/join/permissions"
	"github.com/fairlead-dev/fairlead/internal/join/steps"
)

// attempt is one request that the host's account sends to a member.
type attempt struct {
	do      func(context.Context, client.Client) error
	refused string // words of the refusal; "" if the request must succeed
}

func (a attempt) check(t *testing.T, account client.Client) {
	t.Helper()
	err := a.do(within(t), account)
	switch {
	case a.refused == "" && err != nil:
		t.Error(err)
	case a.refused != "" && (!apierrors.IsForbidden(err) || !strings.Contains(err.Error(), a.refused)):
		t.Errorf("got %v, want a refusal that says %q", err, a.refused)
	}
}

// creates returns a request that creates obj. Like the functions below, it sends a dry run, which leaves no object.
func creates(obj client.Object) func(context.Context, client.Client) error {
	return func(ctx context.Context, c client.Client) error { return c.Create(ctx, copyOf(obj), client.DryRunAll) }
}

func deletes(obj client.Object) func(context.Context, client.Client) error {
	return func(ctx context.Context, c client.Client) error { return c.Delete(ctx, copyOf(obj), client.DryRunAll) }
}

func patches(obj client.Object, patch string) func(context.Context, client.Client) error {
	return func(ctx context.Context, c client.Client) error {
		return c.Patch(ctx, copyOf(obj), client.RawPatch(types.MergePatchType, []byte(patch)), client.DryRunAll)
	}
}

func applies(obj client.Object, patch string) func(context.Context, client.Client) error {
	return func(ctx context.Context, c client.Client) error {
		return c.Patch(ctx, copyOf(obj), client.RawPatch(types.ApplyPatchType, []byte(patch)), client.FieldOwner("t"), client.ForceOwnership, client.DryRunAll)
	}
}

func copyOf(obj client.Object) client.Object { return obj.DeepCopyObject().(client.Object) }

func labelled(pairs ...string) map[string]string {
	labels := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		labels[pairs[i]] = pairs[i+1]
	}
	return labels
}

func namespace(name string, labels ...string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labelled(labels...)}}
}

func configMap(ns, name string, labels ...string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, Labels: labelled(labels...)}, Data: map[string]string{"a": "b"}}
}

func deployment(ns string) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "web"}, Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labelled("a", "b")}, Template: podTemplate()}}
}

func podTemplate() corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labelled("a", "b")}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
}

func statefulSet(ns string) *appsv1.StatefulSet {
	return &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "db", Labels: labelled(v1alpha1.LabelUID, "w")}, Spec: appsv1.StatefulSetSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labelled("a", "b")}, Template: podTemplate(), ServiceName: "db"}}
}

func delivery() *v1alpha1.Delivery {
	return &v1alpha1.Delivery{
		ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: "fed.shop.web"},
		Spec: v1alpha1.DeliverySpec{Wrapper: v1alpha1.WrapperIdentity{Kind: "Federated", Namespace: "shop", Name: "web", UID: "w", Generation: 1},
			Target: &v1alpha1.DeliveryTarget{Revision: "web-1", Rendering: "sha256:" + strings.Repeat("0", 64)}},
	}
}

// named returns a Delivery with this name.
func named(name string) *v1alpha1.Delivery {
	d := delivery()
	d.Name = name
	return d
}

// asksToken returns a request for a token of an account. It leaves no object.
func asksToken(account string) func(context.Context, client.Client) error {
	return func(ctx context.Context, c client.Client) error {
		return c.SubResource("token").Create(ctx, cluster.ServiceAccount(account), &authenticationv1.TokenRequest{})
	}
}

// grantInSystem gives the host's account rights in fairlead-system that no join gives, so that only the policy can refuse.
func (f *fleet) grantInSystem(t *testing.T, rules ...rbacv1.PolicyRule) {
	t.Helper()
	meta := metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: "more"}
	theirs(t, f.east, &rbacv1.Role{ObjectMeta: meta, Rules: rules}, &rbacv1.RoleBinding{ObjectMeta: meta,
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: v1alpha1.SystemNamespace, Name: permissions.HostAccount}}})
}

// theirs creates objects as the member's own users would, and deletes them after the test.
func theirs(t *testing.T, c client.Client, objects ...client.Object) {
	t.Helper()
	for _, obj := range objects {
		made := copyOf(obj)
		eventually(t, "making "+cluster.Describe(obj), func(ctx context.Context) bool {
			err := c.Create(ctx, made)
			return err == nil || apierrors.IsAlreadyExists(err)
		})
		t.Cleanup(func() {
			if err := c.Delete(within(t), made); client.IgnoreNotFound(err) != nil {
				t.Error(err)
			}
		})
	}
}

// bringAsBefore creates a namespace as the manager of an earlier version created it for a ClusterFederated: without
// LabelMade.
func bringAsBefore(t *testing.T, c client.Client, name string) {
	t.Helper()
	ns := namespace(name)
	body := fmt.Sprintf(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":%q,"labels":{%q:"w"}}}`, name, v1alpha1.LabelUID)
	if err := c.Patch(within(t), ns, client.RawPatch(types.ApplyPatchType, []byte(body)), client.FieldOwner(v1alpha1.FieldManager)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Delete(within(t), ns); err != nil {
			t.Error(err)
		}
	})
}

// The member's API server itself keeps the host out of closed namespaces, even if the host's manager has a bug or is
// hostile. The test sends each request with the host's token, immediately after the join.
func TestAMemberRefusesTheHostsWritesToClosedNamespaces(t *testing.T) {
	f := newFleet(t)
	theirs(t, f.east,
		namespace("kube-extra"), configMap("kube-extra", "theirs"), configMap("kube-system", "marked", v1alpha1.LabelUID, "w"),
		namespace("closed"), configMap("closed", "theirs"), configMap("closed", "ours", v1alpha1.LabelUID, "w"), statefulSet("closed"),
		namespace("opened", v1alpha1.LabelOpen, "true"), configMap("opened", "theirs"),
		namespace("adopted", v1alpha1.LabelUID, "w"), namespace("shut", v1alpha1.LabelOpen, "false"))
	bringAsBefore(t, f.east, "brought")
	f.mustJoin(t, f.eastConfig, join.Options{Name: "east", Allow: []string{"core", "storage", "secrets", "core/namespaces"}, Collector: v1alpha1.CollectorExternal})
	t.Cleanup(func() { f.leave(t, f.eastConfig, "east") })
	account := f.asHost(t, "east")
	more := func(ctx context.Context, c client.Client) error { // needs a right that no join gives (see grantInSystem), so that the policy refuses the request, and not RBAC
		return c.Status().Patch(ctx, delivery(), client.RawPatch(types.MergePatchType, []byte(`{}`)), client.DryRunAll)
	}
	f.grantInSystem(t, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"serviceaccounts/token"}, Verbs: []string{"create"}},
		rbacv1.PolicyRule{APIGroups: []string{v1alpha1.Group}, Resources: []string{"deliveries/status"}, Verbs: []string{"patch"}})
	if err := f.east.Create(within(t), delivery()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the host's account has more rights", func(ctx context.Context) bool {
		err := more(ctx, account)
		return err == nil || !strings.Contains(err.Error(), "cannot patch resource")
	})
	const notOpen, system, ownOnly, notYours = "is not open to the host", "is the system's", "its Deliveries and its own credentials only", "may not open"
	open, made := fmt.Sprintf(`{"metadata":{"labels":{%q:"true"}}}`, v1alpha1.LabelOpen), fmt.Sprintf(`{"metadata":{"labels":{%q:"true"}}}`, v1alpha1.LabelMade)
	secret := func(kind corev1.SecretType) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: permissions.HostAccount + "-token-4", Annotations: labelled(corev1.ServiceAccountNameKey, permissions.CollectorAccount)}, Type: kind}
	}
	for name, a := range map[string]attempt{
		"a Deployment in kube-system":                           {do: creates(deployment("kube-system")), refused: system},
		"a ConfigMap in another kube namespace":                 {do: creates(configMap("kube-extra", "x")), refused: system},
		"a deletion in kube-system":                             {do: deletes(configMap("kube-extra", "theirs")), refused: system},
		"a deletion of what has our mark in kube-system":        {do: deletes(configMap("kube-system", "marked")), refused: system},
		"a namespace kube-mine":                                 {do: creates(namespace("kube-mine")), refused: system},
		"a change of the namespace kube-system":                 {do: patches(namespace("kube-system"), open), refused: system},
		"a deletion of a kube namespace":                        {do: deletes(namespace("kube-extra")), refused: system},
		"a Deployment in fairlead-system":                       {do: creates(deployment(v1alpha1.SystemNamespace)), refused: ownOnly},
		"an account in fairlead-system":                         {do: creates(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: "x"}}), refused: ownOnly},
		"a Secret that asks for an account's token":             {do: creates(secret(corev1.SecretTypeServiceAccountToken)), refused: ownOnly},
		"a Secret that a host would take for credentials":       {do: creates(secret(v1alpha1.SecretTypeMember)), refused: ownOnly},
		"another Secret in fairlead-system":                     {do: creates(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: "x"}}), refused: ownOnly},
		"a deletion of the collector's account":                 {do: deletes(cluster.ServiceAccount(permissions.CollectorAccount)), refused: ownOnly},
		"a change of the host's account":                        {do: patches(cluster.ServiceAccount(permissions.HostAccount), `{"metadata":{"labels":{"a":"b"}}}`), refused: ownOnly},
		"a token of a collector elsewhere":                      {do: asksToken(permissions.CollectorAccount), refused: ownOnly},
		"a Secret that such a token would be bound to":          {do: creates(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: permissions.CollectorAccount + "-token-1"}, Type: corev1.SecretTypeOpaque}), refused: ownOnly},
		"the status of a Delivery":                              {do: more, refused: ownOnly},
		"labels of fairlead-system":                             {do: patches(namespace(v1alpha1.SystemNamespace), `{"metadata":{"labels":{"a":"b"}}}`), refused: ownOnly},
		"a ConfigMap in a closed namespace":                     {do: creates(configMap("closed", "x")), refused: notOpen},
		"a ConfigMap, applied, in a closed namespace":           {do: applies(configMap("closed", "x"), `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"}}`), refused: notOpen},
		"a ConfigMap where open says false":                     {do: creates(configMap("shut", "x")), refused: notOpen},
		"a ConfigMap in default":                                {do: creates(configMap("default", "x")), refused: notOpen},
		"a change of theirs in a closed namespace":              {do: patches(configMap("closed", "theirs"), `{"data":{"a":"c"}}`), refused: notOpen},
		"a mark on theirs in a closed namespace":                {do: patches(configMap("closed", "theirs"), fmt.Sprintf(`{"metadata":{"labels":{%q:"w"}}}`, v1alpha1.LabelUID)), refused: notOpen},
		"a deletion of theirs in a closed namespace":            {do: deletes(configMap("closed", "theirs")), refused: notOpen},
		"other content of ours in a closed namespace":           {do: patches(configMap("closed", "ours"), `{"data":{"a":"c"}}`), refused: notOpen},
		"more content of ours in a closed namespace":            {do: patches(configMap("closed", "ours"), `{"binaryData":{"c":"YQ=="}}`), refused: notOpen},
		"another image of ours in a closed namespace":           {do: patches(statefulSet("closed"), `{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"j"}]}}}}`), refused: notOpen},
		"opening a closed namespace":                            {do: patches(namespace("closed"), open), refused: notYours},
		"opening an open one in the host's words":               {do: patches(namespace("brought"), open), refused: notYours},
		"a ConfigMap in a namespace that only has our mark":     {do: creates(configMap("adopted", "x")), refused: notOpen},
		"calling a closed namespace made":                       {do: patches(namespace("closed"), made), refused: "was not made by the host"},
		"calling an open namespace made":                        {do: patches(namespace("opened"), made), refused: "was not made by the host"},
		"calling a closed namespace one of a wrapper":           {do: patches(namespace("closed"), fmt.Sprintf(`{"metadata":{"labels":{%q:"w"}}}`, v1alpha1.LabelUID)), refused: notOpen},
		"a label of a closed namespace":                         {do: patches(namespace("closed"), `{"metadata":{"labels":{"a":"b"}}}`), refused: notOpen},
		"a deletion of a closed namespace":                      {do: deletes(namespace("closed")), refused: notOpen},
		"a new namespace that says open":                        {do: creates(namespace("x", v1alpha1.LabelOpen, "true")), refused: notYours},
		"a new namespace that says open and made":               {do: creates(namespace("x", v1alpha1.LabelOpen, "true", v1alpha1.LabelMade, "true")), refused: notYours},
		"works: a namespace on the way":                         {do: creates(namespace("x", v1alpha1.LabelMade, "true"))},
		"works: a namespace of a wrapper":                       {do: creates(namespace("x", v1alpha1.LabelUID, "w"))},
		"works: a ConfigMap in an open namespace":               {do: creates(configMap("opened", "x"))},
		"works: a change in an open namespace":                  {do: patches(configMap("opened", "theirs"), `{"data":{"a":"c"}}`)},
		"works: a deletion in an open namespace":                {do: deletes(configMap("opened", "theirs"))},
		"works: a ConfigMap in one that a wrapper once created": {do: creates(configMap("brought", "x"))},
		"works: labels of an open namespace":                    {do: patches(namespace("opened"), `{"metadata":{"labels":{"a":"b"}}}`)},
		"works: a deletion of an open namespace":                {do: deletes(namespace("opened"))},
		"works: taking ours out of a namespace that was closed": {do: deletes(configMap("closed", "ours"))},
		"works: releasing ours there":                           {do: patches(configMap("closed", "ours"), fmt.Sprintf(`{"metadata":{"labels":{%q:null}}}`, v1alpha1.LabelUID))},
		"works: having ours keep its claims there":              {do: patches(statefulSet("closed"), `{"spec":{"persistentVolumeClaimRetentionPolicy":{"whenDeleted":"Retain"}}}`)},
		"works: what has no namespace":                          {do: creates(&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "x"}, Provisioner: "p"})},
		"works: a Delivery":                                     {do: creates(named("fed.shop.api"))},
		"works: a Secret that a token is bound to":              {do: creates(secret(corev1.SecretTypeOpaque))},
		"works: a token":                                        {do: asksToken(permissions.HostAccount)},
		"works: leaving": {do: func(ctx context.Context, c client.Client) error {
			for _, obj := range []client.Object{&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: permissions.HostAccount}}, namespace(v1alpha1.SystemNamespace),
				cluster.ServiceAccount(permissions.HostAccount), &v1alpha1.Membership{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.MembershipName}}} {
				if err := c.Delete(ctx, obj, client.DryRunAll); err != nil {
					return err
				}
			}
			return c.DeleteAllOf(ctx, &v1alpha1.Delivery{}, client.InNamespace(v1alpha1.SystemNamespace), client.DryRunAll)
		}},
	} {
		t.Run(name, func(t *testing.T) { a.check(t, account) })
	}
	t.Run("works: a push into a namespace made on the way", func(t *testing.T) {
		way := namespace("onitsway", v1alpha1.LabelMade, "true")
		if err := account.Create(within(t), way); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.east.Delete(within(t), way) })
		if err := account.Create(within(t), configMap("onitsway", "x")); err != nil {
			t.Error(err)
		}
	})
	t.Run("works: others do as ever", func(t *testing.T) {
		for _, do := range []func(context.Context, client.Client) error{creates(configMap("kube-system", "x")), creates(configMap("closed", "x")), patches(namespace("closed"), open)} {
			if err := do(within(t), f.east); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestUnderAllEveryNamespaceIsOpenButThoseOfTheSystem(t *testing.T) {
	f := newFleet(t)
	theirs(t, f.east, namespace("elsewhere"), configMap("elsewhere", "theirs"))
	f.mustJoin(t, f.eastConfig, join.Options{Name: "east", Allow: []string{"any"}, Namespaces: v1alpha1.NamespacesAll})
	t.Cleanup(func() { f.leave(t, f.eastConfig, "east") })
	account := f.asHost(t, "east")
	for name, a := range map[string]attempt{
		"kube-system":                   {do: creates(configMap("kube-system", "x")), refused: "is the system's"},
		"fairlead-system":               {do: creates(configMap(v1alpha1.SystemNamespace, "x")), refused: "its own credentials only"},
		"opening a namespace for later": {do: patches(namespace("elsewhere"), fmt.Sprintf(`{"metadata":{"labels":{%q:"true"}}}`, v1alpha1.LabelOpen)), refused: "may not open"},
		"works: a namespace of theirs":  {do: creates(configMap("elsewhere", "x"))},
		"works: a change of theirs":     {do: patches(configMap("elsewhere", "theirs"), `{"data":{"a":"c"}}`)},
		"works: the namespace's own":    {do: patches(namespace("elsewhere"), `{"metadata":{"labels":{"a":"b"}}}`)},
		"works: a right of its own":     {do: creates(&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: "elsewhere", Name: "x"}})},
	} {
		t.Run(name, func(t *testing.T) { a.check(t, account) })
	}
}

// Only a person with rights on the member can open namespaces. Rights on the host are not enough.
func TestAnEditOfTheMemberClusterOpensNoNamespace(t *testing.T) {
	f := newFleet(t)
	f.mustJoin(t, f.eastConfig, join.Options{Name: "east", Allow: []string{"core"}})
	t.Cleanup(func() { f.leave(t, f.eastConfig, "east") })
	edit := func() {
		t.Helper()
		m := &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "east"}}
		if err := f.host.Patch(within(t), m, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"namespacePolicy":"All"}}`))); err != nil {
			t.Fatal(err)
		}
	}
	into := attempt{do: creates(configMap("default", "x")), refused: "is not open to the host"}
	edit()
	into.check(t, f.asHost(t, "east"))

	r, reported, err := f.join(t, f.eastConfig, join.Options{Name: "east"}) // a second join without --namespaces, for example to repair the member
	if err != nil {
		t.Fatal(err)
	}
	into.check(t, f.asHost(t, "east"))
	if r.Namespaces != v1alpha1.NamespacesManaged || !said(reported, "hostctl join east --cluster-kubeconfig FILE --namespaces All") {
		t.Errorf("namespaces %s; %v", r.Namespaces, reported)
	}

	// The namespace stays closed even if the host deletes the Membership, which records the policy of the last join.
	edit()
	if err := f.asHost(t, "east").Delete(within(t), &v1alpha1.Membership{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.MembershipName}}); err != nil {
		t.Fatal(err)
	}
	if r, _, err = f.join(t, f.eastConfig, join.Options{Name: "east"}); err != nil || r.Namespaces != v1alpha1.NamespacesManaged {
		t.Errorf("%+v %v", r, err)
	}
	into.check(t, f.asHost(t, "east"))

	// A Membership without namespacePolicy is from an earlier version, which had no policy. That member's namespaces stay open.
	edit()
	m := &v1alpha1.Membership{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.MembershipName}}
	if err := f.east.Patch(within(t), m, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"namespacePolicy":null}}`))); err != nil {
		t.Fatal(err)
	}
	if r, reported, err = f.join(t, f.eastConfig, join.Options{Name: "east"}); err != nil || r.Namespaces != v1alpha1.NamespacesAll || !said(reported, "--namespaces Managed") {
		t.Errorf("%+v %v %v", r, reported, err)
	}
	into.refused = ""
	into.check(t, f.asHost(t, "east"))

	f.mustJoin(t, f.eastConfig, join.Options{Name: "east", Namespaces: v1alpha1.NamespacesManaged})
	into.refused = "is not open to the host"
	into.check(t, f.asHost(t, "east"))
}

// The host may delete its own ClusterRole. The policy must stay until the host has lost all its rights.
func TestAHostThatDeletesItsOwnRightsNeverWritesWithoutThePolicy(t *testing.T) {
	f := newFleet(t)
	f.mustJoin(t, f.eastConfig, join.Options{Name: "east", Allow: []string{"core", "storage", "olm"}})
	t.Cleanup(func() { f.leave(t, f.eastConfig, "east") })
	account := f.asHost(t, "east")
	meta := metav1.ObjectMeta{Name: permissions.HostAccount}
	for _, obj := range []client.Object{&admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: meta}, &admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: meta}} {
		if err := account.Delete(within(t), obj); !apierrors.IsForbidden(err) {
			t.Errorf("deleting %s: %v", cluster.Describe(obj), err)
		}
		if err := f.east.Get(within(t), client.ObjectKeyFromObject(obj), obj); err != nil || len(obj.GetOwnerReferences()) < 5 {
			t.Errorf("%s belongs to %v: %v", cluster.Describe(obj), obj.GetOwnerReferences(), err)
		}
	}
	if err := account.Delete(within(t), &rbacv1.ClusterRole{ObjectMeta: meta}); err != nil {
		t.Fatal(err)
	}
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: meta}
	eventually(t, "the policy is gone, and the host writes nothing meanwhile", func(ctx context.Context) bool {
		if err := account.Create(ctx, configMap("kube-system", "x"), client.DryRunAll); !apierrors.IsForbidden(err) {
			t.Errorf("the host may write: %v", err)
			return true
		}
		return apierrors.IsNotFound(f.east.Get(ctx, client.ObjectKeyFromObject(policy), policy))
	})
}

func TestAJoinThatMayNotWriteThePolicyNamesTheRight(t *testing.T) {
	f := newFleet(t)
	all := []string{"*"}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "test-nearly-admin"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"", rbacv1.GroupName, "apiextensions.k8s.io", v1alpha1.Group}, Resources: all, Verbs: all}, {NonResourceURLs: all, Verbs: all}}}
	theirs(t, f.east, role, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: role.Name},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "nearly"}}})
	nearly := rest.CopyConfig(f.eastConfig)
	nearly.Impersonate.UserName = "nearly"
	t.Cleanup(func() { f.leave(t, f.eastConfig, "east") })
	eventually(t, "the right is named", func(context.Context) bool {
		_, _, err := f.join(t, nearly, join.Options{Name: "east", Allow: []string{"core/configmaps"}})
		if err == nil {
			t.Fatal("it joined")
		}
		return strings.Contains(err.Error(), "resources: [validatingadmissionpolicies, validatingadmissionpolicybindings], verbs: [get, create, update]")
	})
	if err := f.host.Get(within(t), types.NamespacedName{Namespace: v1alpha1.SystemNamespace, Name: "east"}, &corev1.Secret{}); !apierrors.IsNotFound(err) {
		t.Errorf("the host has a token: %v", err)
	}
}

func said(reported []steps.Step, words string) bool {
	return slices.ContainsFunc(reported, func(s steps.Step) bool { return strings.Contains(s.What+s.Note, words) })
}
