// SPDX-License-Identifier: Apache-2.0

package join_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/join"
	"github.com/fairlead-dev/fairlead/internal/join/cluster"
	"github.com/fairlead-dev/fairlead/internal/join/membercollector"
	"github.com/fairlead-dev/fairlead/internal/join/permissions"
	"github.com/fairlead-dev/fairlead/internal/join/steps"
	"github.com/fairlead-dev/fairlead/internal/testing/errortext"
)

// These tests run on real API servers with their controllers and the scheduler. KWOK replaces the kubelets: it marks every pod on a
// node as ready. For a pod that does not run, the test itself writes the status that a kubelet would write.

// elsewhere is an address of another machine. These tests send no request to it.
const elsewhere = "https://192.0.2.7:6443"

// runsManager gives the host the Deployment of a manager, without pods.
func (f *fleet) runsManager(t *testing.T, image string) {
	t.Helper()
	ns := cluster.SystemNamespace()
	if err := client.IgnoreAlreadyExists(f.host.Create(within(t), ns)); err != nil {
		t.Fatal(err)
	}
	labels := map[string]string{"app": "manager"}
	zero := int32(0)
	manager := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: membercollector.Manager}, Spec: appsv1.DeploymentSpec{
		Replicas: &zero, Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
			ImagePullSecrets: []corev1.LocalObjectReference{{Name: "registry"}}, Containers: []corev1.Container{{Name: "manager", Image: image}}}}}}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: "registry"}, Type: corev1.SecretTypeDockerConfigJson,
		Data: map[string][]byte{corev1.DockerConfigJsonKey: []byte(`{"auths":{}}`)}}
	for _, obj := range []client.Object{manager, secret} {
		there := obj.DeepCopyObject().(client.Object)
		err := f.host.Get(within(t), client.ObjectKeyFromObject(obj), there)
		if err == nil {
			obj.SetResourceVersion(there.GetResourceVersion())
			err = f.host.Update(within(t), obj)
		} else {
			err = f.host.Create(within(t), obj)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// forgetsManager deletes the manager's Deployment, as on a host whose manager runs outside the cluster.
func (f *fleet) forgetsManager(t *testing.T) {
	t.Helper()
	for _, obj := range []client.Object{
		&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: membercollector.Manager}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: "registry"}},
	} {
		if err := client.IgnoreNotFound(f.host.Delete(within(t), obj)); err != nil {
			t.Error(err)
		}
	}
}

// deployed returns the collector's Deployment on the member, or nil if it does not exist.
func (f *fleet) deployed(t *testing.T) *appsv1.Deployment {
	t.Helper()
	d := &appsv1.Deployment{}
	err := f.east.Get(within(t), client.ObjectKey{Namespace: v1alpha1.SystemNamespace, Name: membercollector.Name}, d)
	if cluster.Absent(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func (f *fleet) eastAccount(t *testing.T) *corev1.ServiceAccount {
	t.Helper()
	account := cluster.ServiceAccount(permissions.CollectorAccount)
	if err := f.east.Get(within(t), client.ObjectKeyFromObject(account), account); err != nil {
		t.Fatal(err)
	}
	return account
}

// hostOnEast returns a client for the member. The client uses the host's account, and connects to the address that the test
// uses, not to the one that the join stored.
func (f *fleet) hostOnEast(t *testing.T) client.Client {
	t.Helper()
	_, secret := f.registered(t, "east")
	cfg := rest.AnonymousClientConfig(f.eastConfig)
	cfg.BearerToken = string(secret.Data[v1alpha1.SecretToken])
	return clientFor(t, cfg)
}

func TestTheCollectorOfANewMemberIsADeploymentThere(t *testing.T) {
	f := newFleet(t)
	f.runsManager(t, "registry.org/fairlead/manager:v1")
	t.Cleanup(func() { f.forgetsManager(t) })
	opts := join.Options{Name: "east", Server: elsewhere}
	got := f.mustJoin(t, f.eastConfig, opts)
	t.Cleanup(func() { f.leave(t, f.eastConfig, "east") })
	if got.Collector != v1alpha1.CollectorMember || got.CollectorImage != "registry.org/fairlead/collector:v1" {
		t.Errorf("%+v", got)
	}
	d := f.deployed(t)
	if d == nil || d.Spec.Template.Spec.Containers[0].Image != "registry.org/fairlead/collector:v1" || d.OwnerReferences[0].UID != f.eastAccount(t).UID {
		t.Fatalf("the Deployment: %+v", d)
	}
	pull := &corev1.Secret{}
	if err := f.east.Get(within(t), client.ObjectKey{Namespace: v1alpha1.SystemNamespace, Name: "registry"}, pull); err != nil || string(pull.Data[corev1.DockerConfigJsonKey]) != `{"auths":{}}` {
		t.Errorf("the pull secret: %v %v", pull.Data, err)
	}
	if mc, secret := f.registered(t, "east"); mc.Spec.Collector != v1alpha1.CollectorMember || len(secret.Data[v1alpha1.SecretCollectorToken]) != 0 {
		t.Errorf("the host: %+v, keys %v", mc.Spec, slices.Collect(maps.Keys(secret.Data)))
	}

	host := f.hostOnEast(t)
	bare := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: membercollector.Name}}
	other := membercollector.Deployment(membercollector.Settings{ClusterName: "east", Image: "mine"})
	other.Name = "other"
	if err := f.east.Create(within(t), other); err != nil {
		t.Fatal(err)
	}
	for name, a := range map[string]attempt{
		"the host reads the Deployment": {do: func(ctx context.Context, c client.Client) error {
			return c.Get(ctx, client.ObjectKeyFromObject(bare), bare.DeepCopy())
		}},
		"and its CRDs": {do: func(ctx context.Context, c client.Client) error {
			return c.Get(ctx, client.ObjectKey{Name: permissions.CRDDeliveries}, &apiextensionsv1.CustomResourceDefinition{})
		}},
		"and lists its pods": {do: func(ctx context.Context, c client.Client) error {
			return c.List(ctx, &corev1.PodList{}, client.InNamespace(v1alpha1.SystemNamespace))
		}},
		"but no pods elsewhere": {do: func(ctx context.Context, c client.Client) error {
			return c.List(ctx, &corev1.PodList{}, client.InNamespace("default"))
		}, refused: "cannot list"},
		"nor does it change the Deployment": {do: func(ctx context.Context, c client.Client) error {
			return c.Patch(ctx, bare.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"replicas":0}}`)))
		}, refused: "in namespace fairlead-system the host writes its Deliveries"},
		"nor delete another": {do: func(ctx context.Context, c client.Client) error { return c.Delete(ctx, other.DeepCopy()) }, refused: "in namespace fairlead-system the host writes its Deliveries"},
	} {
		t.Run(name, func(t *testing.T) { a.check(t, host) })
	}
	if err := f.east.Delete(within(t), other); err != nil {
		t.Fatal(err)
	}

	if again := f.mustJoin(t, f.eastConfig, opts); again.Changes != 0 {
		t.Errorf("a join wrote something: %+v", again)
	}
	// The host is upgraded from v1 to v2.
	f.runsManager(t, "registry.org/fairlead/manager:v2")
	if again := f.mustJoin(t, f.eastConfig, opts); again.Changes != 1 {
		t.Errorf("%+v", again)
	}
	if now := f.deployed(t); now.UID != d.UID || now.Spec.Template.Spec.Containers[0].Image != "registry.org/fairlead/collector:v2" {
		t.Errorf("it is not upgraded: %+v", now.Spec.Template.Spec)
	}
	// The next join gives --image-pull-secret none, and a toleration.
	given := opts
	given.MemberCollector = membercollector.Given{PullSecrets: []string{membercollector.None}, Tolerations: []string{"edge=yes:NoSchedule"}}
	f.mustJoin(t, f.eastConfig, given)
	f.mustJoin(t, f.eastConfig, opts)
	if now := f.deployed(t).Spec.Template.Spec; len(now.ImagePullSecrets) != 0 || !slices.ContainsFunc(now.Tolerations, func(t corev1.Toleration) bool { return t.Key == "edge" }) {
		t.Errorf("%+v", now)
	}
	if err := f.east.Get(within(t), client.ObjectKeyFromObject(pull), pull); !cluster.Absent(err) {
		t.Errorf("the copy of the pull secret stays: %v", err)
	}

	// The manager withdraws from the member with the host's account. It must delete the collector before the Deliveries.
	var reported []string
	if err := join.Withdraw(within(t), host, got.Host.UID, "east", func(s steps.Step) { reported = append(reported, s.What) }); err != nil {
		t.Fatal(err)
	}
	if len(reported) == 0 || reported[0] != "member east: collector" {
		t.Errorf("steps: %v", reported)
	}
	eventually(t, "nothing of the collector is left", func(ctx context.Context) bool {
		var pods corev1.PodList
		return f.deployed(t) == nil && f.east.List(ctx, &pods, client.InNamespace(v1alpha1.SystemNamespace)) == nil && len(pods.Items) == 0
	})
}

func TestAChangeOfTheCollectorModeRemovesTheFormerCollector(t *testing.T) {
	f := newFleet(t)
	f.runsManager(t, "registry.org/fairlead/manager:v1")
	t.Cleanup(func() { f.forgetsManager(t) })
	to := func(mode v1alpha1.CollectorMode) *corev1.ServiceAccount {
		t.Helper()
		opts := join.Options{Name: "east", Server: elsewhere, Collector: mode}
		f.mustJoin(t, f.eastConfig, opts)
		if again := f.mustJoin(t, f.eastConfig, opts); again.Changes != 0 {
			t.Errorf("%s: another join wrote something: %+v", mode, again)
		}
		if d := f.deployed(t); (d != nil) != (mode == v1alpha1.CollectorMember) {
			t.Errorf("%s: the Deployment: %v", mode, d)
		}
		_, secret := f.registered(t, "east")
		if held := len(secret.Data[v1alpha1.SecretCollectorToken]) > 0; held != (mode == v1alpha1.CollectorHost) {
			t.Errorf("%s: the host holds a token of the collector: %v", mode, held)
		}
		return f.eastAccount(t)
	}
	before := to(v1alpha1.CollectorHost)
	t.Cleanup(func() { f.leave(t, f.eastConfig, "east") })
	for _, mode := range []v1alpha1.CollectorMode{v1alpha1.CollectorMember, v1alpha1.CollectorExternal, v1alpha1.CollectorMember, v1alpha1.CollectorHost} {
		after := to(mode)
		if after.UID == before.UID {
			t.Errorf("%s: tokens of the former collector go on", mode)
		}
		before = after
	}
	// A person who ran the collector (External) may have a token of its account. A join that moves the collector to the
	// member has to replace the account, although no collector's Deployment exists yet.
	external := to(v1alpha1.CollectorExternal)
	if now := to(v1alpha1.CollectorMember); now.UID == external.UID {
		t.Error("the token of an External collector goes on")
	}
	// --rotate also makes the tokens of the collector's pods invalid.
	had := f.deployed(t)
	f.mustJoin(t, f.eastConfig, join.Options{Name: "east", Server: elsewhere, Rotate: true}.Remembering(time.Millisecond))
	if now := f.deployed(t); now == nil || now.UID == had.UID {
		t.Errorf("the pods keep a token of the account before: %v", now)
	}
}

func TestADeploymentThatNoJoinMadeStays(t *testing.T) {
	f := newFleet(t)
	f.mustJoin(t, f.eastConfig, join.Options{Name: "east", Collector: v1alpha1.CollectorExternal})
	t.Cleanup(func() { f.leave(t, f.eastConfig, "east") })
	theirs := membercollector.Deployment(membercollector.Settings{ClusterName: "east", Image: "mine"})
	theirs.Labels = nil
	if err := f.east.Create(within(t), theirs); err != nil {
		t.Fatal(err)
	}
	if again := f.mustJoin(t, f.eastConfig, join.Options{Name: "east"}); again.Changes != 0 {
		t.Errorf("%+v", again)
	}
	_, _, err := f.join(t, f.eastConfig, join.Options{Name: "east", Collector: v1alpha1.CollectorMember, MemberCollector: membercollector.Given{Image: "a:v1"}})
	if diff := errortext.Diff("has a Deployment fairlead-system/fairlead-collector that no join made", err); diff != "" {
		t.Error(diff)
	}
	if d := f.deployed(t); d == nil || d.UID != theirs.UID {
		t.Errorf("%+v", d)
	}
}

func TestWrongSettingsOfACollectorAreRefusedBeforeTheFirstWrite(t *testing.T) {
	f := newFleet(t)
	before := ours(t, f.east)
	refused := func(want string, opts join.Options) {
		t.Helper()
		opts.Name = "east"
		_, _, err := f.join(t, f.eastConfig, opts)
		if diff := errortext.Diff(want, err); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(before, ours(t, f.east)); diff != "" {
			t.Errorf("%s: the member was written to: %s", want, diff)
		}
	}
	refused("the host has no Deployment fairlead-system/fairlead-manager", join.Options{Collector: v1alpha1.CollectorMember})
	refused("are for --collector Member", join.Options{MemberCollector: membercollector.Given{Image: "a:v1"}})
	f.runsManager(t, "registry.org/fairlead/manager:v1")
	t.Cleanup(func() { f.forgetsManager(t) })
	refused("in the pod of the host's manager it leads to that pod itself; give the address by which the host's pods reach the member: --server", join.Options{})
	refused("--proxy-url http://127.0.0.1:1 is a loopback address: in the pod of the host's manager", join.Options{Server: elsewhere, ProxyURL: "http://127.0.0.1:1"})
}

// awaits joins east and waits until it is Ready. Meanwhile the test acts as the manager, and reports east as Ready at once.
func (f *fleet) awaits(t *testing.T) ([]steps.Step, error) {
	t.Helper()
	type ended struct {
		reported []steps.Step
		err      error
	}
	end := make(chan ended, 1)
	go func() {
		var reported []steps.Step
		_, err := join.Join(within(t), f.hostConfig, f.eastConfig, join.Options{Name: "east", DefaultHostName: "prod", Server: elsewhere, Wait: 3 * time.Minute,
			Collector: v1alpha1.CollectorMember}.Impatient(),
			func(s steps.Step) { reported = append(reported, s) })
		end <- ended{reported, err}
	}()
	for {
		select {
		case e := <-end:
			return e.reported, e.err
		case <-time.After(100 * time.Millisecond):
			f.callReady(t)
		}
	}
}

// callReady writes the status that the manager writes for a member that it reaches.
func (f *fleet) callReady(t *testing.T) {
	t.Helper()
	mc := &v1alpha1.MemberCluster{}
	if f.host.Get(within(t), client.ObjectKey{Name: "east"}, mc) != nil {
		return
	}
	for _, kind := range []string{v1alpha1.ConditionReady, v1alpha1.ConditionCredentialsValid} {
		meta.SetStatusCondition(&mc.Status.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: "Ready", ObservedGeneration: mc.Generation})
	}
	_ = f.host.Status().Update(within(t), mc) // after a conflict, the next call of callReady succeeds
}

func (f *fleet) pod(t *testing.T) *corev1.Pod {
	t.Helper()
	pod := &corev1.Pod{}
	eventually(t, "the controllers make a pod", func(ctx context.Context) bool {
		var pods corev1.PodList
		if f.east.List(ctx, &pods, client.InNamespace(v1alpha1.SystemNamespace), client.MatchingLabels(membercollector.Labels())) != nil || len(pods.Items) == 0 {
			return false
		}
		*pod = pods.Items[0]
		return true
	})
	return pod
}

// collectorFails waits until the member's controllers have written this reason why the collector does not run.
func (f *fleet) collectorFails(t *testing.T, reason string) {
	t.Helper()
	eventually(t, "the member tells "+reason, func(ctx context.Context) bool {
		var pods corev1.PodList
		return f.east.List(ctx, &pods, client.InNamespace(v1alpha1.SystemNamespace), client.MatchingLabels(membercollector.Labels())) == nil &&
			membercollector.StateOf(f.deployed(t), pods.Items).Reason == reason
	})
}

func TestAJoinReportsWhyTheCollectorDoesNotStart(t *testing.T) {
	f := newFleet(t)
	f.runsManager(t, "registry.org/fairlead/manager:v1")
	t.Cleanup(func() { f.forgetsManager(t) })
	t.Cleanup(func() { f.leave(t, f.eastConfig, "east") })
	notReady := func(err error, reason string, words ...string) {
		t.Helper()
		var is *join.NotReadyError
		if !errors.As(err, &is) || is.Reason != reason {
			t.Fatalf("got %v, want %s", err, reason)
		}
		for _, want := range words {
			if diff := errortext.Diff(want, err); diff != "" {
				t.Error(diff)
			}
		}
	}
	// A quota of the member refuses the pod. The member's controllers write that into the status of the Deployment.
	host := join.Options{Name: "east", Server: elsewhere, Collector: v1alpha1.CollectorHost}
	f.mustJoin(t, f.eastConfig, host)
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: "none"},
		Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}}}
	if err := f.east.Create(within(t), quota); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the quota counts", func(ctx context.Context) bool {
		return f.east.Get(ctx, client.ObjectKeyFromObject(quota), quota) == nil && quota.Status.Hard != nil
	})
	_, _ = f.awaits(t) // on a slow machine this join ends before the controllers have written the reason
	f.collectorFails(t, v1alpha1.ReasonPodRefused)
	_, err := f.awaits(t)
	notReady(err, v1alpha1.ReasonPodRefused, "member east", "exceeded quota: none")
	if err := f.east.Delete(within(t), quota); err != nil {
		t.Fatal(err)
	}

	// No node accepts the pod. The scheduler writes that into the status of the pod.
	f.mustJoin(t, f.eastConfig, host) // the controllers try a refused pod again only after a while
	eventually(t, "the pods of the former Deployment are gone", func(ctx context.Context) bool {
		var pods corev1.PodList
		return f.east.List(ctx, &pods, client.InNamespace(v1alpha1.SystemNamespace), client.MatchingLabels(membercollector.Labels())) == nil && len(pods.Items) == 0
	})
	f.cordon(t, true)
	t.Cleanup(func() { f.cordon(t, false) })
	_, _ = f.awaits(t)
	f.collectorFails(t, v1alpha1.ReasonPodUnschedulable)
	_, err = f.awaits(t)
	notReady(err, v1alpha1.ReasonPodUnschedulable, "the scheduler finds no node for pod", "unschedulable")

	// The image cannot be pulled. No kubelet runs in this test, so the test writes the status that a kubelet would write.
	pod := f.pod(t)
	to := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}, Target: corev1.ObjectReference{Kind: "Node", Name: "worker-1"}}
	if err := f.east.SubResource("binding").Create(within(t), pod, to); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the pod has its status", func(ctx context.Context) bool {
		if err := f.east.Get(ctx, client.ObjectKeyFromObject(pod), pod); err != nil {
			return false
		}
		pod.Status.Phase = corev1.PodPending
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "collector", Image: "registry.org/fairlead/collector:v1",
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "manifest unknown"}}}}
		return f.east.Status().Update(ctx, pod) == nil
	})
	reported, err := f.awaits(t)
	notReady(err, v1alpha1.ReasonImageNotPulled, "node worker-1 cannot pull image registry.org/fairlead/collector:v1 of the collector: ErrImagePull: manifest unknown")
	if !slices.ContainsFunc(reported, func(s steps.Step) bool {
		return s.Outcome == steps.Noted && strings.HasPrefix(s.What, "member east: the collector does not run: ImageNotPulled: node worker-1")
	}) {
		t.Errorf("it is not told while the join waits: %v", reported)
	}

	// The pod is deleted. KWOK marks its successor on another node as ready, as if that node had pulled the image.
	f.cordon(t, false)
	if err := f.east.Delete(within(t), pod, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the collector's pod is ready", func(context.Context) bool { return membercollector.RolledOut(f.deployed(t)) })
	if _, err = f.awaits(t); err != nil {
		t.Error(err)
	}
}

// cordon marks all nodes of the member as unschedulable, or makes them schedulable again.
func (f *fleet) cordon(t *testing.T, unschedulable bool) {
	t.Helper()
	var nodes corev1.NodeList
	if err := f.east.List(within(t), &nodes); err != nil {
		t.Fatal(err)
	}
	for i := range nodes.Items {
		patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"unschedulable":%t}}`, unschedulable))
		if err := f.east.Patch(within(t), &nodes.Items[i], patch); err != nil {
			t.Fatal(err)
		}
	}
}
