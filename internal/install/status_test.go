// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiversion "k8s.io/apimachinery/pkg/version"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/clockskew"
	"github.com/fairlead-dev/fairlead/internal/install/manifests"
	"github.com/fairlead-dev/fairlead/internal/join/cluster"
)

func well(now time.Time) *Status {
	return &Status{Image: "m:v1", Webhooks: WebhooksAnswer, Manager: ManagerStatus{Replicas: 2, Ready: 2, Leader: "manager-1", Renewed: metav1.NewTime(now)}}
}

func TestStatusNamesTheProblems(t *testing.T) {
	now := time.Now()
	for name, tc := range map[string]struct {
		change func(*Status)
		want   string // "" for no problem
	}{
		"all is well":                        {func(*Status) {}, ""},
		"a manager outside the cluster":      {func(s *Status) { s.Image, s.Manager.Replicas, s.Manager.Ready = "", 0, 0 }, ""},
		"no manager, but webhooks":           {func(s *Status) { *s = Status{Webhooks: WebhooksAnswer} }, "no manager is installed"},
		"nothing is installed":               {func(s *Status) { s.Webhooks = webhooksNotInstalled }, "Fairlead is not installed on this host: run `hostctl init`"},
		"no replicas":                        {func(s *Status) { s.Manager.Replicas, s.Manager.Ready = 0, 0 }, "the manager has 0 replicas"},
		"one replica is missing":             {func(s *Status) { s.Manager.Ready = 1 }, "1 of 2 replicas of the manager are not ready"},
		"a pod has trouble":                  {func(s *Status) { s.Manager.Troubles = []string{"pod a: x"} }, "pod a: x"},
		"no leader":                          {func(s *Status) { s.Manager.Leader = "" }, "no replica of the manager holds the lease"},
		"a leader that stopped":              {func(s *Status) { s.Manager.Renewed = metav1.NewTime(now.Add(-2 * time.Minute)) }, "manager-1, last renewed its lease 2m0s ago"},
		"webhooks that do not answer":        {func(s *Status) { s.Webhooks = "refused" }, "refused. Look at the manager's pods"},
		"webhooks that the user may not ask": {func(s *Status) { s.Webhooks = "not asked: forbidden" }, ""},
		"members that are unreachable": {func(s *Status) {
			s.Members = []Group{{Ready: "False", Reason: "Unreachable", Count: 2, Names: []string{"a", "b"}}}
		}, "members: 2 Unreachable: a, b"},
		"members that are well":       {func(s *Status) { s.Members = []Group{{Ready: "True", Reason: "Ready", Count: 2}} }, ""},
		"wrappers on their way":       {func(s *Status) { s.Clusters = ClusterSums{Placed: 3, Progressing: 3} }, ""},
		"wrappers that need a person": {func(s *Status) { s.Clusters = ClusterSums{Placed: 3, Stalled: 1, Degraded: 1} }, "2 pairs of wrapper and cluster"},
	} {
		t.Run(name, func(t *testing.T) {
			s := well(now)
			tc.change(s)
			s.judge(now)
			if all := strings.Join(s.Problems, "\n"); s.Healthy != (tc.want == "") || !strings.Contains(all, tc.want) {
				t.Errorf("want %q, got %t %s", tc.want, s.Healthy, all)
			}
		})
	}
}

type serverVersion struct{}

func (serverVersion) ServerVersion() (*apiversion.Info, error) {
	return &apiversion.Info{GitVersion: "v1.36.3"}, nil
}

// `hostctl uninstall` leaves CRDs, wrappers, and the record of the version. A manager that was killed leaves its lease.
func TestStatusOfAHostWithoutFairleadPointsToInitOnly(t *testing.T) {
	renewed := func(age time.Duration) client.Object {
		return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: manifests.Manager},
			Spec: coordinationv1.LeaseSpec{HolderIdentity: new("manager-1"), RenewTime: new(metav1.NewMicroTime(time.Now().Add(-age)))}}
	}
	left := &v1alpha1.Federated{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	left.Status.Counts.Degraded = new(int32(1))
	webhook := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: manifests.Webhook}}
	manager := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: manifests.Manager,
		Labels: map[string]string{"app.kubernetes.io/name": "fairlead", "app.kubernetes.io/component": "manager"}}}
	manager.Spec.Selector = &metav1.LabelSelector{MatchLabels: manager.Labels}
	manager.Spec.Template.Spec.Containers = []corev1.Container{{Image: "r.example/m:v0.1.0"}}
	const notInstalled = "Fairlead is not installed on this host: run `hostctl init`"
	for name, tc := range map[string]struct {
		objects []client.Object
		problem string // the only one; "" if Fairlead is installed
	}{
		"an empty host":                        {nil, notInstalled},
		"after uninstall":                      {[]client.Object{left, Record("v0.1.0", nil), renewed(time.Hour)}, notInstalled + ". The last manager, manager-1, renewed its lease 1h0m0s ago"},
		"a manager outside the cluster":        {[]client.Object{renewed(time.Second)}, ""},
		"a Deployment of the manager":          {[]client.Object{manager}, ""},
		"a webhook configuration that is left": {[]client.Object{webhook}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			asked := false
			c := fake.NewClientBuilder().WithScheme(cluster.Scheme).WithObjects(tc.objects...).WithInterceptorFuncs(interceptor.Funcs{
				Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
					asked = true
					return nil
				},
			}).Build()
			s, err := readStatus(t.Context(), connection{Client: c, discovery: serverVersion{}, skew: &clockskew.Estimate{}})
			if err != nil {
				t.Fatal(err)
			}
			isInstalled := tc.problem == ""
			if told := len(s.Problems) == 1 && strings.HasPrefix(s.Problems[0], notInstalled); told == isInstalled || asked != isInstalled || s.Healthy {
				t.Errorf("asked the webhooks: %t; %+v", asked, s)
			}
			if !isInstalled && (!strings.HasPrefix(s.Problems[0], tc.problem) || s.Webhooks != "not installed" || s.Version != "" || s.Manager.Leader != "") {
				t.Errorf("%+v", s)
			}
		})
	}
}

// The API server is a fake that answers the two dry runs of hostctl as the webhooks, RBAC and the network would.
func TestTheStatusTellsWhetherTheWebhooksAnswer(t *testing.T) {
	denied := errors.New(`admission webhook "validate-wrappers.federation.fairlead.dev" denied the request: no object of kind NoSuchKind`)
	down := apierrors.NewInternalError(errors.New(`failed calling webhook "default-wrappers.federation.fairlead.dev": no endpoints available for service "fairlead-webhook"`))
	for name, tc := range map[string]struct {
		correct, wrong error
		want           string
	}{
		"they answer":                      {nil, denied, WebhooksAnswer},
		"no pod of the manager runs":       {down, down, "no endpoints available"},
		"the validating one is down":       {nil, down, "the refusal did not come from the webhook"},
		"the API server does not call":     {nil, nil, "it does not call the webhooks"},
		"the user may not create wrappers": {apierrors.NewForbidden(schema.GroupResource{}, "probe", errors.New("no rule")), nil, webhooksNotAsked},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			c := fake.NewClientBuilder().WithScheme(cluster.Scheme).WithInterceptorFuncs(interceptor.Funcs{
				Create: func(_ context.Context, _ client.WithWatch, _ client.Object, options ...client.CreateOption) error {
					if o := (&client.CreateOptions{}).ApplyOptions(options); len(o.DryRun) == 0 {
						t.Error("hostctl status must create nothing")
					}
					asked++
					return []error{tc.correct, tc.wrong}[asked-1]
				},
			}).Build()
			if got := askWebhooks(t.Context(), c); !strings.Contains(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestARefusalForTheUsersRightsIsNoAnswerOfTheWebhooks(t *testing.T) {
	group := schema.GroupResource{Group: v1alpha1.Group, Resource: "clusterfederateds"}
	for text, want := range map[string]bool{
		`User "viewer" cannot create resource "clusterfederateds"`:          true,
		`admission webhook "default-wrappers.x" denied the request: no`:     false,
		`ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no`: false,
	} {
		if got := mayNotProbe(fmt.Errorf("a wrapper: %w", apierrors.NewForbidden(group, "probe", errors.New(text)))); got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
	if mayNotProbe(nil) || mayNotProbe(errors.New("refused")) {
		t.Error("not a refusal for rights")
	}
	read := forbidden(apierrors.NewForbidden(group, "", errors.New("no")), "reading").Error()
	if strings.Contains(read, "install the host part") || !strings.Contains(read, "another user with --context") {
		t.Error(read)
	}
}

func TestMembersOfTheSameStateShareAGroup(t *testing.T) {
	member := func(name, reason string, is metav1.ConditionStatus) v1alpha1.MemberCluster {
		return v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: v1alpha1.MemberClusterStatus{
			Conditions: []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: is, Reason: reason, Message: "of " + name + "\x1b[31m"}}}}
	}
	wrapper := &v1alpha1.Federated{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	wrapper.Status.Counts.Placed, wrapper.Status.Counts.Held = new(int32(3)), new(int32(1))
	s := &Status{}
	s.group([]v1alpha1.Wrapper{wrapper, wrapper}, []v1alpha1.MemberCluster{
		member("a", "AllWell", "True"), member("b", "AllWell", "True"), member("c", "Unreachable", "False"), member("d", "AllWell", "True"), {ObjectMeta: metav1.ObjectMeta{Name: "e"}},
	})
	want := []Group{
		{Ready: "False", Reason: "Unreachable", Count: 1, Names: []string{"c"}, Message: "of c[31m"},
		{Ready: "Unknown", Reason: "NotObserved", Count: 1, Names: []string{"e"}, Message: "the manager has written no status yet"},
		{Ready: "True", Reason: "AllWell", Count: 3, Names: []string{"a", "b", "d"}, Message: "of a[31m"},
	}
	if diff := cmp.Diff(want, s.Members); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(ClusterSums{Placed: 6, Held: 2}, s.Clusters); diff != "" || s.Wrappers[0].Names[0] != "shop/web" {
		t.Errorf("%s %v", diff, s.Wrappers)
	}
}

func TestAReadyMemberThatIsOutdatedIsAProblem(t *testing.T) {
	member := func(name string, conditions ...metav1.Condition) v1alpha1.MemberCluster {
		ready := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonReady}
		return v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: v1alpha1.MemberClusterStatus{Conditions: append(conditions, ready)}}
	}
	outdated := metav1.Condition{Type: v1alpha1.ConditionMemberOutdated, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonCRDsOutdated}
	for name, tc := range map[string]struct {
		members []v1alpha1.MemberCluster
		want    string // the beginning of the only problem; "" for no problem
	}{
		"no member is outdated":      {[]v1alpha1.MemberCluster{member("a"), member("b")}, ""},
		"two of three are outdated":  {[]v1alpha1.MemberCluster{member("a", outdated), member("b"), member("c", outdated)}, "members outdated: a, c: run `hostctl join"},
		"a name with an escape code": {[]v1alpha1.MemberCluster{member("a\x1b", outdated)}, "members outdated: a: run"},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Now()
			s := well(now)
			s.group(nil, tc.members)
			s.judge(now)
			if got := strings.Join(s.Problems, "\n"); s.Healthy != (tc.want == "") || !strings.HasPrefix(got, tc.want) || len(s.Problems) > 1 {
				t.Errorf("want %q, got %t %q", tc.want, s.Healthy, got)
			}
		})
	}
}

func TestWrappersThatTheManagerDoesNotReconcileAreAProblem(t *testing.T) {
	now := metav1.NewTime(time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC))
	made := func(name string, age time.Duration, observed bool) v1alpha1.Wrapper {
		w := &v1alpha1.Federated{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, CreationTimestamp: metav1.NewTime(now.Add(-age))}}
		if observed {
			w.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonReady}}
		}
		return w
	}
	s := &Status{ReadTime: now, Webhooks: WebhooksAnswer, Manager: ManagerStatus{Leader: "m", Renewed: now}}
	s.group([]v1alpha1.Wrapper{made("new", observedWithin, false), made("observed", time.Hour, true)}, nil)
	if s.judge(now.Time); !s.Healthy {
		t.Fatalf("a new wrapper, and one with a status: %q", s.Problems)
	}
	s.group([]v1alpha1.Wrapper{made("old", observedWithin+time.Second, false)}, nil)
	s.judge(now.Time)
	if s.Healthy || !strings.HasPrefix(strings.Join(s.Problems, "\n"), "wrappers: without a status more than 60 s after they were created: shop/old. ") {
		t.Errorf("%q", s.Problems)
	}
}

func TestSkewOfMembers(t *testing.T) {
	for name, tc := range map[string]struct {
		host   string
		member MemberVersion
		want   string
	}{
		"the same":                             {"v1.2.0", MemberVersion{CollectorVersion: "v1.2.0"}, ""},
		"one minor newer":                      {"v1.2.0", MemberVersion{CollectorVersion: "v1.3.0"}, ""},
		"two minors newer":                     {"v1.2.0", MemberVersion{CollectorVersion: "v1.4.0"}, "member a: its collector, v1.4.0, is newer than the host, v1.2.0: upgrade the host"},
		"two minors older, not yet outdated":   {"v1.4.0", MemberVersion{CollectorVersion: "v1.2.0"}, "member a: its collector, v1.2.0, is older than the host, v1.4.0: run `hostctl join a "},
		"two minors older and outdated":        {"v1.4.0", MemberVersion{CollectorVersion: "v1.2.0", Outdated: "it is older"}, "member a: it is older"},
		"the collector inside the manager":     {"v1.4.0", MemberVersion{CollectorVersion: "v1.2.0", Collector: v1alpha1.CollectorHost}, ""},
		"a build of a later commit":            {olderBuild, MemberVersion{CollectorVersion: newerBuild}, "is newer than the host, " + olderBuild},
		"a dirty build of the same commit":     {olderBuild, MemberVersion{CollectorVersion: olderBuild + ".dirty"}, ""},
		"a collector that reported no version": {"v1.4.0", MemberVersion{}, ""},
		"a host of an unknown version":         {"", MemberVersion{CollectorVersion: "v1.2.0"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			tc.member.Name = "a"
			v := &Versions{Client: tc.host, Host: &HostVersion{Version: tc.host}, Members: []MemberVersion{tc.member}}
			if got := v.skew(); (len(got) == 0) != (tc.want == "") || len(got) > 1 || !strings.Contains(strings.Join(got, ""), tc.want) {
				t.Errorf("want %q, got %q", tc.want, got)
			}
		})
	}
}

func TestSkew(t *testing.T) {
	for name, tc := range map[string]struct{ client, host, want string }{
		"the same":                     {"v1.2.0", "v1.2.0", ""},
		"one minor":                    {"v1.2.0", "v1.3.4", ""},
		"two minors, an older hostctl": {"v1.2.0", "v1.4.0", "this hostctl, v1.2.0, is older than the host, v1.4.0"},
		"two minors, an older host":    {"v1.4.0", "v1.2.0", "the tool that installed it: `hostctl init`, Helm"},
		"another major":                {"v2.0.0", "v1.9.0", "the tool that installed it: `hostctl init`, Helm"},
		"a build of a later commit":    {newerBuild, olderBuild, "the tool that installed it: `hostctl init`, Helm"},
		"a build of an earlier commit": {olderBuild, newerBuild, "is older than the host"},
		"the tag of the same build":    {olderBuild, "v0.0.0-dev.20260101000000-aaaaaaaaaaaa", ""},
		"a version that has no order":  {"v1.0.0", "e2e", ""},
	} {
		t.Run(name, func(t *testing.T) {
			v := &Versions{Client: tc.client, Host: &HostVersion{Version: tc.host}}
			if got := strings.Join(v.skew(), "\n"); !strings.Contains(got, tc.want) || (got == "") != (tc.want == "") {
				t.Errorf("want %q, got %q", tc.want, got)
			}
		})
	}
	v := &Versions{Client: "v1.0.0", Members: []MemberVersion{{Name: "a"}, {Name: "b", Outdated: "its CRDs are older"}}}
	if diff := cmp.Diff([]string{"member b: its CRDs are older"}, v.skew()); diff != "" {
		t.Error(diff)
	}
}

const (
	olderBuild = "v0.0.0-dev.20260101000000+aaaaaaaaaaaa"
	newerBuild = "v0.0.0-dev.20260201000000+bbbbbbbbbbbb"
)
