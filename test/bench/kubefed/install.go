// SPDX-License-Identifier: Apache-2.0

package kubefed

import (
	"context"
	"encoding/base64"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// SystemNamespace holds KubeFed's own objects, on the host and on members.
	SystemNamespace = "kube-federation-system"
	// Process is the name of the controller manager's process, and of the ConfigMap that is its leader lock.
	Process = "kubefed-controller-manager"
	// account is the service account that the controller manager uses on a member.
	account = "kubefed"
	// AccountUser is the name of that account in audit logs.
	AccountUser = "system:serviceaccount:" + SystemNamespace + ":" + account

	tokenLasts = 24 * time.Hour
)

// Args returns the arguments of the controller manager. The release's chart gives only --v=2; the other arguments name the host and local
// addresses. So rates and concurrency are the release's defaults.
func Args(kubeconfig, health, metrics string) []string {
	return []string{
		"--v=2", "--kubeconfig=" + kubeconfig, "--kubefed-namespace=" + SystemNamespace,
		"--healthz-addr=" + health, "--metrics-addr=" + metrics,
	}
}

// Prepare creates on the host what the controller manager needs before it starts. user is the name with which the controller manager
// authenticates at the host.
func (r *Release) Prepare(ctx context.Context, host client.Client, user string) error {
	crds, err := r.crds()
	if err != nil {
		return err
	}
	types, err := r.typeConfigs("namespaces", "configmaps")
	if err != nil {
		return err
	}
	for _, obj := range types {
		obj.SetNamespace(SystemNamespace)
	}
	if err := create(ctx, host, systemNamespace(), administrator(rbacv1.Subject{Kind: rbacv1.UserKind, Name: user})); err != nil {
		return err
	}
	if err := create(ctx, host, asObjects(crds)...); err != nil {
		return err
	}
	return create(ctx, host, append(asObjects(types), config())...)
}

// config returns the KubeFedConfig that the release's chart creates, with every default filled in. KubeFed's admission webhook, which
// usually sets the defaults, is not installed here.
func config() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": coreVersion,
		"kind":       "KubeFedConfig",
		"metadata":   map[string]any{"namespace": SystemNamespace, "name": "kubefed"},
		"spec": map[string]any{
			"scope":              "Cluster",
			"controllerDuration": map[string]any{"availableDelay": "20s", "unavailableDelay": "60s", "cacheSyncTimeout": "5m"},
			"leaderElect": map[string]any{
				"leaseDuration": "15s", "renewDeadline": "10s", "retryPeriod": "5s", "resourceLock": "configmaps",
			},
			"clusterHealthCheck": map[string]any{
				"period": "10s", "failureThreshold": int64(3), "successThreshold": int64(1), "timeout": "3s",
			},
			"syncController":   map[string]any{"maxConcurrentReconciles": int64(1), "adoptResources": "Enabled"},
			"statusController": map[string]any{"maxConcurrentReconciles": int64(1)},
			"featureGates": []any{
				map[string]any{"name": "PushReconciler", "configuration": "Enabled"},
				map[string]any{"name": "SchedulerPreferences", "configuration": "Enabled"},
			},
		},
	}}
}

// Join joins a member. The argument at has the address and the CA of the member. On the member, Join creates an account with all
// permissions. On the host it creates a Secret with the account's token, and a KubeFedCluster.
func Join(ctx context.Context, host, member client.Client, name string, at *rest.Config) error {
	sa := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: SystemNamespace, Name: account}}
	subject := rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: sa.Namespace, Name: sa.Name}
	if err := create(ctx, member, systemNamespace(), sa, administrator(subject)); err != nil {
		return err
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(tokenLasts.Seconds()))}}
	if err := member.SubResource("token").Create(ctx, sa, request); err != nil {
		return fmt.Errorf("requesting a token for %s: %w", sa.Name, err)
	}
	full := rest.CopyConfig(at)
	if err := rest.LoadTLSFiles(full); err != nil {
		return err
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: SystemNamespace, Name: name},
		Data:       map[string][]byte{"token": []byte(request.Status.Token)},
	}
	return create(ctx, host, secret, clusterObject(name, full.Host, full.CAData))
}

func clusterObject(name, server string, ca []byte) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": coreVersion,
		"kind":       "KubeFedCluster",
		"metadata":   map[string]any{"namespace": SystemNamespace, "name": name},
		"spec": map[string]any{
			"apiEndpoint": server,
			"caBundle":    base64.StdEncoding.EncodeToString(ca),
			"secretRef":   map[string]any{"name": name},
			"proxyURL":    "",
		},
	}}
}

// NotReady returns the name of an object that is not ready, or "" once KubeFed can work: each member is Ready, and the propagation
// controller of each type runs.
func NotReady(ctx context.Context, host client.Client) (string, error) {
	for kind, ready := range map[string]func(*unstructured.Unstructured) bool{
		"KubeFedCluster": func(obj *unstructured.Unstructured) bool { return isTrue(obj, "Ready") },
		"FederatedTypeConfig": func(obj *unstructured.Unstructured) bool {
			state, _, _ := unstructured.NestedString(obj.Object, "status", "propagationController")
			return state == "Running"
		},
	} {
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion(coreVersion)
		list.SetKind(kind + "List")
		if err := host.List(ctx, list, client.InNamespace(SystemNamespace)); err != nil {
			return "", err
		}
		for i := range list.Items {
			if !ready(&list.Items[i]) {
				return kind + " " + list.Items[i].GetName() + " is not ready", nil
			}
		}
	}
	return "", nil
}

func systemNamespace() client.Object {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: SystemNamespace}}
}

// administrator returns a binding of the subject to cluster-admin. KubeFed's own roles allow every verb on every resource, too.
func administrator(subject rbacv1.Subject) client.Object {
	if subject.Kind == rbacv1.UserKind {
		subject.APIGroup = rbacv1.GroupName
	}
	return &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "kubefed"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{subject},
	}
}

func asObjects(all []*unstructured.Unstructured) []client.Object {
	found := make([]client.Object, 0, len(all))
	for _, obj := range all {
		found = append(found, obj)
	}
	return found
}

// create creates the objects in this order. It retries for a minute, because the API server serves a new CRD only after some time.
func create(ctx context.Context, to client.Client, all ...client.Object) error {
	const within = time.Minute
	ctx, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("not served within %s", within))
	defer cancel()
	for _, obj := range all {
		for {
			err := to.Create(ctx, obj)
			if err == nil || apierrors.IsAlreadyExists(err) {
				break
			}
			if !meta.IsNoMatchError(err) && !apierrors.IsNotFound(err) && !apierrors.IsServiceUnavailable(err) {
				return fmt.Errorf("creating %s: %w", described(obj), err)
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("creating %s: %w: %w", described(obj), context.Cause(ctx), err)
			case <-time.After(200 * time.Millisecond):
			}
		}
	}
	return nil
}

// described returns the kind and the name of an object, for messages.
func described(obj client.Object) string {
	if kind := obj.GetObjectKind().GroupVersionKind().Kind; kind != "" {
		return kind + " " + obj.GetName()
	}
	return fmt.Sprintf("%T %s", obj, obj.GetName())
}
