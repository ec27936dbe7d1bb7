// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/config"
	"github.com/fairlead-dev/fairlead/internal/install"
	"github.com/fairlead-dev/fairlead/internal/install/manifests"
	"github.com/fairlead-dev/fairlead/internal/sandbox"
	"github.com/fairlead-dev/fairlead/internal/sandbox/progress"
	"github.com/fairlead-dev/fairlead/internal/testing/plane"
)

const (
	older = "v0.0.0-dev.20260101000000+aaaaaaaaaaaa"
	newer = "v0.0.0-dev.20260201000000+bbbbbbbbbbbb"
	image = "registry.test/fairlead/manager:v1"
)

// TestInitInstallsTheHostPart runs init as a user does: for the first time, again, after an object was deleted, and with another version. KWOK
// reports the pods of the Deployment as ready. The manager itself runs in the test process, with the permissions of its service
// account.
func TestInitInstallsTheHostPart(t *testing.T) {
	box := shared.Sandbox(t)
	admin, host := freshHost(t, box)
	first := initialize(t, box, admin, install.Options{Image: image, Version: older})
	if first.Changes < 15 || first.Before != "" {
		t.Errorf("the first init returned %+v", first)
	}
	defer runManager(t, tokenConfig(t, admin, host), serving(t, box))()
	if again := initialize(t, box, admin, install.Options{Version: older, Wait: time.Minute}); again.Changes != 0 || again.Before != older || again.Image != image {
		t.Errorf("a second init must change nothing and keep the image of the first: %+v", again)
	}
	if err := host.Delete(t.Context(), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: manifests.Service}}); err != nil {
		t.Fatal(err)
	}
	if repaired := initialize(t, box, admin, install.Options{Version: older, Wait: time.Minute}); repaired.Changes != 1 {
		t.Errorf("init on a host without the Service must make one change: %+v", repaired)
	}
	values := []byte("image: {repository: registry.test/fairlead/manager, tag: v2}\nnetworkPolicy: {enabled: false}\npriorityClass: {name: other}\nreplicas: 1\n")
	upgraded := initialize(t, box, admin, install.Options{Values: values, Version: newer, Wait: time.Minute})
	if upgraded.Before != older || upgraded.Replicas != 1 || upgraded.Image != "registry.test/fairlead/manager:v2" {
		t.Errorf("the upgrade returned %+v", upgraded)
	}
	for _, gone := range []client.Object{
		&networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: manifests.Manager}},
		&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: manifests.Manager}},
	} {
		if err := host.Get(t.Context(), client.ObjectKeyFromObject(gone), gone); !apierrors.IsNotFound(err) {
			t.Errorf("%T %s is no longer part of the installation, but init did not delete it: %v", gone, gone.GetName(), err)
		}
	}

	var down *install.DowngradeError
	if _, err := install.Install(t.Context(), admin, toServed(t, box, install.Options{Version: older}), progress.Discard()); !errors.As(err, &down) {
		t.Errorf("a downgrade without AllowDowngrade returned %v", err)
	}
	if allowed := initialize(t, box, admin, install.Options{Version: older, AllowDowngrade: true, Wait: time.Minute}); allowed.Before != newer {
		t.Errorf("a downgrade with AllowDowngrade returned %+v", allowed)
	}
}

// TestInitWritesNothingInADryRun runs init with DryRun on an empty host. The host must stay empty.
func TestInitWritesNothingInADryRun(t *testing.T) {
	box := shared.Sandbox(t)
	admin, host := freshHost(t, box)
	dry := initialize(t, box, admin, install.Options{Image: image, Version: older, DryRun: true})
	if dry.Changes < 15 {
		t.Errorf("%+v", dry)
	}
	if err := host.Get(t.Context(), client.ObjectKey{Name: v1alpha1.SystemNamespace}, &corev1.Namespace{}); !apierrors.IsNotFound(err) {
		t.Errorf("the dry run made the namespace: %v", err)
	}
	initialize(t, box, admin, install.Options{Image: image, Version: older})
	if dry := initialize(t, box, admin, install.Options{Version: older, DryRun: true}); dry.Changes != 0 {
		t.Errorf("a dry run of what is installed would change objects: %+v", dry)
	}
}

// The test makes an installation of Fairlead with other means than init, in several ways. Init must refuse to change it, and
// its message must name the way to replace it.
func TestInitRefusesAnotherFairlead(t *testing.T) {
	box := shared.Sandbox(t)
	labels := map[string]string{"app.kubernetes.io/name": "fairlead", "app.kubernetes.io/component": "manager"}
	deployment := func(namespace string) *appsv1.Deployment {
		pod := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "manager", Image: image}}}}
		return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: manifests.Manager, Labels: map[string]string{}},
			Spec: appsv1.DeploymentSpec{Replicas: new(int32(0)), Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: pod}}
	}
	for name, tc := range map[string]struct {
		there func(t *testing.T, host client.Client)
		want  string
	}{
		"in another namespace": {func(t *testing.T, host client.Client) {
			create(t, host, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "federation"}})
			d := deployment("federation")
			d.Labels = labels
			create(t, host, d)
			t.Cleanup(func() { _ = host.Delete(context.Background(), d) })
		}, "Deployment fairlead-manager in namespace federation"},
		"of Helm": {func(t *testing.T, host client.Client) {
			create(t, host, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.SystemNamespace}})
			d := deployment(v1alpha1.SystemNamespace)
			d.Labels = map[string]string{"app.kubernetes.io/managed-by": "Helm", "app.kubernetes.io/name": "fairlead", "app.kubernetes.io/component": "manager"}
			d.Annotations = map[string]string{"meta.helm.sh/release-name": "prod", "meta.helm.sh/release-namespace": "releases"}
			create(t, host, d)
		}, "`helm uninstall prod --namespace releases --wait`"},
		"outside the cluster": {func(t *testing.T, host client.Client) {
			registerWebhooks(t, host, "https://127.0.0.1:1", nil)
		}, "calls https://127.0.0.1:1/mutate-wrappers, the address of a manager outside the cluster"},
	} {
		t.Run(name, func(t *testing.T) {
			admin, host := freshHost(t, box)
			tc.there(t, host)
			var other *install.OtherFairleadError
			_, err := install.Install(t.Context(), admin, install.Options{Image: image, Version: older}, progress.Discard())
			if !errors.As(err, &other) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("want %q, got: %v", tc.want, err)
			}
		})
	}
}

// The test runs init as two users: one has no permissions, and the other has all permissions but may not grant permissions.
// Init's error must name what each user lacks.
func TestInitNamesTheRightsThatAreMissing(t *testing.T) {
	box := shared.Sandbox(t)
	admin, host := freshHost(t, box)
	create(t, host, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "all-but-granting"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"get", "list", "create", "patch", "delete"}},
	}})
	create(t, host, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "all-but-granting"},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "all-but-granting"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "most"}}})
	for user, want := range map[string][]string{
		"nobody": {"get, create, patch customresourcedefinitions.apiextensions.k8s.io", "get, create, patch deployments.apps in fairlead-system", "cluster-admin"},
		"most":   {"the rights in ClusterRole fairlead-manager", "cluster-admin"},
	} {
		as := rest.CopyConfig(admin)
		as.Impersonate.UserName = user
		var rights *install.RightsError
		_, err := install.Install(t.Context(), as, install.Options{Image: image, Version: older}, progress.Discard())
		if !errors.As(err, &rights) {
			t.Errorf("init as user %s returned %v", user, err)
			continue
		}
		for _, words := range want {
			if !strings.Contains(err.Error(), words) {
				t.Errorf("init as user %s: want %q, got: %v", user, words, err)
			}
		}
		if err := host.Get(t.Context(), client.ObjectKey{Name: v1alpha1.SystemNamespace}, &corev1.Namespace{}); !apierrors.IsNotFound(err) {
			t.Errorf("init as user %s made the namespace, although rights are missing: %v", user, err)
		}
	}
}

// The manager's pods cannot run here for three reasons in turn: Pod Security, a quota, and an image that does not exist. Init must return the
// reason.
func TestInitSaysWhyTheManagerDoesNotRun(t *testing.T) {
	box := shared.Sandbox(t)
	t.Run("Pod Security", func(t *testing.T) {
		admin, _ := freshHost(t, box)
		o := toServed(t, box, install.Options{Image: image, Version: older, Wait: time.Minute})
		point := o.Change
		o.Change = func(obj *unstructured.Unstructured) error {
			if obj.GetKind() == "Deployment" {
				return unstructured.SetNestedField(obj.Object, true, "spec", "template", "spec", "hostNetwork")
			}
			return point(obj)
		}
		var refused *install.PodRefusedError
		if _, err := install.Install(t.Context(), admin, o, progress.Discard()); !errors.As(err, &refused) || !strings.Contains(err.Error(), "host namespaces") {
			t.Errorf("got: %v", err)
		}
	})
	t.Run("a quota", func(t *testing.T) {
		admin, host := freshHost(t, box)
		create(t, host, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.SystemNamespace}})
		create(t, host, &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: "none"},
			Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}}})
		eventually(t, "the quota controller has counted the pods", func(ctx context.Context) bool {
			quota := &corev1.ResourceQuota{}
			return host.Get(ctx, client.ObjectKey{Namespace: v1alpha1.SystemNamespace, Name: "none"}, quota) == nil && len(quota.Status.Hard) > 0
		})
		values := []byte("createNamespace: false\nimage: {repository: registry.test/m}\n")
		var refused *install.PodRefusedError
		_, err := install.Install(t.Context(), admin, toServed(t, box, install.Options{Values: values, Version: older, Wait: time.Minute}), progress.Discard())
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), "exceeded quota") {
			t.Errorf("got: %v", err)
		}
	})
	t.Run("an image that does not exist", func(t *testing.T) {
		admin, host := freshHost(t, box)
		actAsKubelet(t, host, func(pod *corev1.Pod) {
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "manager", Image: image, State: corev1.ContainerState{
				Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "Back-off pulling image: manifest unknown"}}}}
		})
		create(t, host, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.SystemNamespace}})
		earlier := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ServiceAccount",
			"metadata": map[string]any{"namespace": v1alpha1.SystemNamespace, "name": "of-an-earlier-version"}}}
		if err := host.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(earlier.DeepCopy()), client.FieldOwner(install.FieldManager)); err != nil {
			t.Fatal(err)
		}
		values := []byte("nodeSelector: {none: here}")
		began := time.Now()
		var notRunning *install.NotRunningError
		_, err := install.Install(t.Context(), admin, toServed(t, box, install.Options{Values: values, Image: image, Version: older, Wait: 3 * time.Minute}), progress.Discard())
		if !errors.As(err, &notRunning) || notRunning.After != 0 {
			t.Fatalf("after %s: %v", time.Since(began), err)
		}
		for _, words := range []string{"pod fairlead-manager-", "ImagePullBackOff of image " + image, "manifest unknown"} {
			if !strings.Contains(err.Error(), words) {
				t.Errorf("want %q, got: %v", words, err)
			}
		}
		there(t, host, earlier) // init must not delete it: the pods of the earlier version still need it
	})
}

// initialize runs init. The webhook configurations that it installs point at the manager of the test process.
func initialize(t *testing.T, box *sandbox.Sandbox, admin *rest.Config, o install.Options) *install.Result {
	t.Helper()
	result, err := install.Install(t.Context(), admin, toServed(t, box, o), progress.New(os.Stderr))
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// toServed makes init point the webhook configurations at the manager of the test process. The API server of a sandbox reaches no
// Service.
func toServed(t *testing.T, box *sandbox.Sandbox, o install.Options) install.Options {
	t.Helper()
	base, ca := "https://127.0.0.1:"+strconv.Itoa(webhookPort(t, box, "webhook")), authority(t, box)
	o.Change = func(obj *unstructured.Unstructured) error {
		if !strings.HasSuffix(obj.GetKind(), "WebhookConfiguration") {
			return nil
		}
		return config.PointWebhooks(obj, base, ca)
	}
	return o
}

// actAsKubelet calls report on each new pod of the manager, and writes the status that report sets, until the test ends. KWOK reports
// every pod on a node as ready, so the caller has to give init values that keep the pods off the nodes.
func actAsKubelet(t *testing.T, host client.Client, report func(*corev1.Pod)) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	t.Cleanup(func() { cancel(); <-ended })
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			pods := &corev1.PodList{}
			_ = host.List(ctx, pods, client.InNamespace(v1alpha1.SystemNamespace)) // after an error the next round lists again
			for i := range pods.Items {
				if pod := &pods.Items[i]; len(pod.Status.ContainerStatuses) == 0 && pod.DeletionTimestamp == nil {
					report(pod)
					_ = host.Status().Update(ctx, pod)
				}
			}
			select {
			case <-ctx.Done():
			case <-time.After(200 * time.Millisecond):
			}
		}
	}()
}

// freshHost removes from the host everything that init installs, now and again when the test ends.
func freshHost(t *testing.T, box *sandbox.Sandbox) (*rest.Config, client.Client) {
	t.Helper()
	admin, host := connect(t, box, sandbox.HostName)
	removeAll := func(ctx context.Context) {
		for _, obj := range []client.Object{&admissionregistrationv1.MutatingWebhookConfiguration{}, &admissionregistrationv1.ValidatingWebhookConfiguration{}} {
			obj.SetName(manifests.Webhook)
			_ = host.Delete(ctx, obj)
		}
		// Remove finalizers here: no manager runs that would remove them.
		members, wrappers := &v1alpha1.MemberClusterList{}, &v1alpha1.FederatedList{}
		_ = host.List(ctx, members) // before the first init the host does not serve the kind
		_ = host.List(ctx, wrappers)
		for i := range members.Items {
			free(ctx, host, &members.Items[i])
		}
		for i := range wrappers.Items {
			free(ctx, host, &wrappers.Items[i])
		}
		objects, err := manifests.Objects(manifests.Default(), "")
		if err != nil {
			t.Error(err)
		}
		for _, obj := range objects {
			if obj.GetKind() != "CustomResourceDefinition" {
				_ = host.Delete(ctx, obj)
			}
		}
		_ = host.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.SystemNamespace}})
		for range 600 {
			_ = plane.FinishNamespace(ctx, host, v1alpha1.SystemNamespace) // after an error, the next round tries again
			if apierrors.IsNotFound(host.Get(ctx, client.ObjectKey{Name: v1alpha1.SystemNamespace}, &corev1.Namespace{})) {
				return
			}
			<-time.After(200 * time.Millisecond)
		}
		t.Error("namespace fairlead-system is not gone")
	}
	removeAll(t.Context())
	t.Cleanup(func() { removeAll(context.Background()) })
	return admin, host
}

// free removes an object's finalizers and deletes the object.
func free(ctx context.Context, host client.Client, obj client.Object) {
	_ = host.Patch(ctx, obj, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))
	_ = host.Delete(ctx, obj)
}
