// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/evidence"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
)

// storefront returns a wrapper that crashes on eu-1.
func storefront() *v1alpha1.Federated {
	w := build.Federated("storefront").In("shop").To("eu-1").With(build.ConfigMap("settings", "color", "blue")).Obj()
	w.UID, w.Generation, w.CreationTimestamp = "u", 4, metav1.NewTime(now.Add(-time.Hour))
	w.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: v1alpha1.GroupVersion.String(), FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{}}`)}}
	w.Annotations = map[string]string{corev1.LastAppliedConfigAnnotation: `{"kind":"Federated"}`, "team": "shop"}
	w.Status.ObservedGeneration, w.Status.UpdateRevision = 4, "fed-storefront-5d8f7c9b64"
	w.Status.Placement.Clusters = []string{"eu-1"}
	w.Status.Clusters = []v1alpha1.ClusterStatus{{Name: "eu-1", State: v1alpha1.StateDegraded, Reason: "CrashLoopBackOff", Message: "Deployment web: it crashes",
		LastTransitionTime: metav1.NewTime(now.Add(-time.Minute))}}
	return w
}

// beside returns the objects that a host has for a wrapper (reports, events, revisions and so on), and the same for another wrapper.
func beside(w v1alpha1.Wrapper) []client.Object {
	other := build.Federated("other").In("shop").Obj()
	other.UID = "o"
	report := build.MemberReport(w, "1111111111", "Deployment", "web", "CrashLoopBackOff", "eu-1")
	report.Status.Containers = []v1alpha1.ObservedContainer{{Pod: "web-1", Name: "app", State: "Waiting", Log: "panic: no database\n"}}
	event := func(name, uid, message string) client.Object {
		return &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, InvolvedObject: corev1.ObjectReference{Kind: "Federated", UID: types.UID(uid)}, Reason: "Happened", Message: message}
	}
	revision := func(name, uid string) client.Object {
		return &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: map[string]string{v1alpha1.LabelUID: uid}},
			Data: runtime.RawExtension{Raw: []byte(`{"objects":[{"kind":"Secret","data":{"a":"content-of-a-revision"}}]}`)}}
	}
	approval := func(name, wrapper string) client.Object {
		return &v1alpha1.Approval{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name},
			Spec: v1alpha1.ApprovalSpec{Wrapper: v1alpha1.WrapperReference{Kind: "Federated", Name: wrapper}, Allow: v1alpha1.AllowWave, Wave: "canary"}}
	}
	return []client.Object{report, build.MemberReport(other, "1111111111", "Deployment", "other", "NotReady", "eu-1"), event("e1", "u", "it happened"), event("e2", "o", "to another"),
		revision("fed-storefront-1", "u"), revision("fed-other-1", "o"), approval("a1", "storefront"), approval("a2", "other")}
}

// fairlead returns the objects of a host that belong to no wrapper: a member, and Fairlead's installation.
func fairlead() []client.Object {
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: name, Labels: map[string]string{"app.kubernetes.io/name": "fairlead"}}
	}
	member := &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "eu-1"}}
	crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "federateds.federation.fairlead.dev"},
		Spec:   apiextensionsv1.CustomResourceDefinitionSpec{Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1alpha1", Served: true, Storage: true, Schema: &apiextensionsv1.CustomResourceValidation{}}}},
		Status: apiextensionsv1.CustomResourceDefinitionStatus{StoredVersions: []string{"v1alpha1"}}}
	pod := &corev1.Pod{ObjectMeta: meta("manager-1"), Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "manager", Image: "r.example/fairlead:v0.2.0"}}},
		Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "manager", RestartCount: 1}}}}
	foreign := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: "foreign"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "x", Image: "x"}}}}
	return []client.Object{member, crd, pod, foreign, &appsv1.Deployment{ObjectMeta: meta("fairlead-manager")},
		&corev1.ConfigMap{ObjectMeta: meta("settings"), Data: map[string]string{"key": "content-of-a-configmap"}},
		&corev1.Secret{ObjectMeta: meta("webhook"), Type: corev1.SecretTypeTLS, Data: map[string][]byte{"tls.key": []byte("content-of-a-secret"), "ca.crt": []byte("x")}},
		&corev1.Event{ObjectMeta: meta("e3"), InvolvedObject: corev1.ObjectReference{Kind: "Pod", Name: "manager-1"}, Reason: "Killing", Message: "probe failed"},
		&admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "fairlead"}}}
}

// everything returns all objects of a whole host with one wrapper of each scope.
func everything() []client.Object {
	fast := build.ClusterFederated("fast").Obj()
	fast.UID = "c"
	return slices.Concat(fairlead(), beside(storefront()), []client.Object{storefront(), fast})
}

// hostWith returns a fake host with these objects.
func hostWith(t *testing.T, funcs interceptor.Funcs, objects ...client.Object) *Host {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme), apiextensionsv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	involved := func(field string) client.IndexerFunc {
		return func(o client.Object) []string {
			content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o) // the fake client passes both typed and untyped objects
			if err != nil {
				panic(err)
			}
			value, _, _ := unstructured.NestedString(content, "involvedObject", field)
			return []string{value}
		}
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithReturnManagedFields().
		WithIndex(&corev1.Event{}, evidence.FieldUID, involved("uid")).
		WithIndex(&corev1.Event{}, fieldKind, involved("kind")).
		WithInterceptorFuncs(funcs).Build()
	return &Host{Client: c, Version: func(context.Context) (string, error) { return "v1.36.3", nil },
		Log: func(_ context.Context, namespace, pod, container string, previous bool) (io.ReadCloser, error) {
			return io.NopCloser(strings.NewReader(fmt.Sprintf("log of %s/%s/%s, previous %v\n", namespace, pod, container, previous))), nil
		}}
}

// page answers a list as an API server does: with a part of it, a token for the next part, and how many objects remain.
func page(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
	options := (&client.ListOptions{}).ApplyOptions(opts)
	limit, from := int(options.Limit), len(options.Continue)
	options.Limit, options.Continue = 0, ""
	if err := c.List(ctx, list, options); err != nil {
		return err
	}
	all, err := apimeta.ExtractList(list)
	if err != nil || len(all)-from <= limit {
		return errors.Join(err, apimeta.SetList(list, all[min(from, len(all)):]))
	}
	list.SetContinue(strings.Repeat("x", from+limit))
	list.SetRemainingItemCount(new(int64(len(all) - from - limit)))
	return apimeta.SetList(list, all[from:from+limit])
}
