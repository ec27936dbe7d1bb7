// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"os"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/config"
	"github.com/fairlead-dev/fairlead/internal/install"
	"github.com/fairlead-dev/fairlead/internal/install/manifests"
	"github.com/fairlead-dev/fairlead/internal/sandbox"
	"github.com/fairlead-dev/fairlead/internal/sandbox/progress"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
)

func init() { utilruntime.Must(apiextensionsv1.AddToScheme(scheme)) }

// TestUninstallLosesNothing uninstalls Fairlead from a host that has a member and a wrapper, installs it again, and then uninstalls it with the
// wrappers. The ConfigMap on the member must stay all the time.
func TestUninstallLosesNothing(t *testing.T) {
	box := shared.Sandbox(t)
	admin, host := freshHost(t, box)
	remote, member := connect(t, box, sandbox.MemberName(1))
	// Join before the Deployment exists: a join refuses the loopback address of the sandbox's member when the manager runs in a
	// pod.
	apply(t, host, config.CRD, config.RBAC)
	stop := runManager(t, tokenConfig(t, admin, host), serving(t, box))
	joinMember(t, admin, remote)
	initialize(t, box, admin, install.Options{Image: image, Version: older, Wait: time.Minute})
	const namespace = "left"
	create(t, host, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	wrapper := build.Federated("web").In(namespace).With(build.ConfigMap("web", "v", "1")).To("east").Obj()
	create(t, host, wrapper)
	delivered := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"}}
	there(t, member, delivered)

	stop() // in a real cluster, uninstall deletes the Deployment, and that ends the manager's pod
	left, err := install.Uninstall(t.Context(), admin, install.UninstallOptions{Wait: time.Minute}, progress.New(os.Stderr))
	if err != nil || left.Wrappers != 1 || left.Members != 1 || left.Secrets < 3 {
		t.Errorf("%+v %v", left, err)
	}
	gone(t, host, parts()...)
	for _, name := range manifests.CRDs() {
		there(t, host, &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	there(t, host, wrapper)
	for _, secret := range []string{"east", v1alpha1.SealSecret, v1alpha1.HistorySecret} {
		there(t, host, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: secret}})
	}
	there(t, member, delivered)

	// No manager runs, so nothing removes the wrappers' finalizers. Uninstall must return an error before it deletes
	// anything.
	give := install.UninstallOptions{DeleteWrappers: true, Wait: 2 * time.Minute}
	if _, err := install.Uninstall(t.Context(), admin, give, progress.Discard()); err == nil {
		t.Error("wrappers were deleted without a manager")
	}
	there(t, host, wrapper)

	if again := initialize(t, box, admin, install.Options{Version: older}); again.Image != image {
		t.Errorf("init after uninstall: %+v", again)
	}
	stop = runManager(t, tokenConfig(t, admin, host), serving(t, box))
	initialize(t, box, admin, install.Options{Version: older, Wait: time.Minute})
	defer stopWithDeployment(t, host, stop)()
	if _, err := install.Uninstall(t.Context(), admin, give, progress.New(os.Stderr)); err != nil {
		t.Error(err)
		_ = host.Delete(t.Context(), parts()[2]) // the manager stops when this Deployment is gone
		return
	}
	gone(t, host, parts()...)
	for _, name := range manifests.CRDs() {
		gone(t, host, &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	gone(t, host, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.SystemNamespace}})
	there(t, member, delivered)
	gone(t, member, &v1alpha1.Membership{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.MembershipName}})
}

// stopWithDeployment stops the manager of the test process once its Deployment is deleted. In a real cluster a kubelet would stop the pod.
func stopWithDeployment(t *testing.T, host client.Client, stop func()) (wait func()) {
	t.Helper()
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		defer stop()
		for t.Context().Err() == nil {
			if apierrors.IsNotFound(host.Get(t.Context(), client.ObjectKey{Namespace: v1alpha1.SystemNamespace, Name: manifests.Manager}, &appsv1.Deployment{})) {
				return
			}
			<-time.After(100 * time.Millisecond)
		}
	}()
	return func() { <-stopped }
}

// parts returns some of the objects that every uninstall deletes.
func parts() []client.Object {
	return []client.Object{
		&admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: manifests.Webhook}},
		&admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: manifests.Webhook}},
		&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: manifests.Manager}},
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: manifests.Service}},
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: manifests.Manager}},
		&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: manifests.Manager}},
	}
}

func there(t *testing.T, c client.Client, obj client.Object) {
	t.Helper()
	eventually(t, obj.GetName()+" is there", func(ctx context.Context) bool { return c.Get(ctx, client.ObjectKeyFromObject(obj), obj) == nil })
	if obj.GetDeletionTimestamp() != nil {
		t.Errorf("%s is being deleted", obj.GetName())
	}
}

func gone(t *testing.T, c client.Client, objects ...client.Object) {
	t.Helper()
	for _, obj := range objects {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(obj), obj); !apierrors.IsNotFound(err) && !meta.IsNoMatchError(err) {
			t.Errorf("%T %s is not gone: %v", obj, obj.GetName(), err)
		}
	}
}
