// SPDX-License-Identifier: Apache-2.0

package olm

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Pods is OLM in pods of a cluster with kubelets.
type Pods struct {
	REST *rest.Config // with an administrator's rights
	// Image has the programs olm, catalog and catalogserver in its root folder. Every node must have it, because nothing pulls it.
	Image string
}

const (
	catalogPort = 50051
	// bundlesPath is where a pod of the catalog finds the catalog. /catalog would hide the program of that name.
	bundlesPath, indexPath = "/bundles", "/index"
	// olmAccount is the service account of OLM's programs. OLM creates Roles with the rights of every operator, so it needs all rights.
	olmAccount = "olm"
)

// Install installs OLM and a catalog with these bundles, and waits until OLM has a connection to the catalog. Another call replaces the
// catalog.
func (p Pods) Install(ctx context.Context, bundles ...Bundle) error {
	catalog, err := renderCatalog(bundles)
	if err != nil {
		return err
	}
	api, err := newClient(p.REST)
	if err != nil {
		return err
	}
	if err := applyDefinitions(ctx, api); err != nil {
		return err
	}
	server := p.program("catalogserver", "--dir="+bundlesPath, fmt.Sprintf("--listen=:%d", catalogPort), "--cache-dir="+indexPath)
	serveCatalog(server, catalog)
	all := append(namespaces(), objects(fmt.Sprintf("%s.%s.svc:%d", CatalogSource, systemNamespace, catalogPort))...)
	all = append(all, account()...)
	all = append(all, catalogObjects(catalog)...)
	all = append(all, server,
		p.program("olm", "--namespace="+systemNamespace, "--interval=30s"),
		p.program("catalog", "--namespace="+systemNamespace, "--interval=1m"))
	for _, o := range all {
		if err := apply(ctx, api, o); err != nil {
			return err
		}
	}
	if err := waitRolledOut(ctx, api, server); err != nil {
		return err
	}
	return waitConnected(ctx, api, time.Time{})
}

// account returns the service account of OLM's programs, with all rights.
func account() []client.Object {
	return []client.Object{
		&corev1.ServiceAccount{TypeMeta: typeMeta("v1", "ServiceAccount"), ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: olmAccount}},
		&rbacv1.ClusterRoleBinding{
			TypeMeta:   typeMeta(rbacv1.SchemeGroupVersion.String(), "ClusterRoleBinding"),
			ObjectMeta: metav1.ObjectMeta{Name: "olm-is-cluster-admin"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: systemNamespace, Name: olmAccount}},
		},
	}
}

// program returns a Deployment with one pod that runs a program of the image.
func (p Pods) program(name string, args ...string) *appsv1.Deployment {
	labels := map[string]string{appLabel: name}
	return &appsv1.Deployment{
		TypeMeta:   typeMeta(appsv1.SchemeGroupVersion.String(), "Deployment"),
		ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](1),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					ServiceAccountName:            olmAccount,
					TerminationGracePeriodSeconds: ptr.To[int64](1),
					SecurityContext:               &corev1.PodSecurityContext{RunAsNonRoot: ptr.To(true), RunAsUser: ptr.To[int64](65532)},
					Containers: []corev1.Container{{
						Name: name, Image: p.Image, ImagePullPolicy: corev1.PullNever, Command: []string{"/" + name}, Args: args,
						VolumeMounts: []corev1.VolumeMount{{Name: "tmp", MountPath: "/tmp"}},
					}},
					Volumes: []corev1.Volume{{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
				},
			},
		},
	}
}

// serveCatalog gives the catalog to the pod of its server. The digest of the catalog is an annotation of the pod, so that another catalog
// gets another pod. The volume is mounted by subPath, because the server reads every file of the folder, and a ConfigMap's volume has folders of its own.
func serveCatalog(server *appsv1.Deployment, catalog []byte) {
	sum := sha256.Sum256(catalog)
	pod := &server.Spec.Template
	pod.Annotations = map[string]string{"sandbox.fairlead.dev/catalog": hex.EncodeToString(sum[:])}
	pod.Spec.Volumes = append(pod.Spec.Volumes,
		corev1.Volume{Name: "index", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		corev1.Volume{Name: "bundles", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: CatalogSource},
		}}})
	container := &pod.Spec.Containers[0]
	container.VolumeMounts = append(container.VolumeMounts,
		corev1.VolumeMount{Name: "index", MountPath: indexPath}, corev1.VolumeMount{Name: "bundles", MountPath: bundlesPath + "/" + catalogName, SubPath: catalogName})
	container.ReadinessProbe = &corev1.Probe{
		PeriodSeconds: 1,
		ProbeHandler:  corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(catalogPort)}},
	}
}

// catalogObjects returns the ConfigMap with the catalog, and the Service of the catalog's server.
func catalogObjects(catalog []byte) []client.Object {
	meta := metav1.ObjectMeta{Namespace: systemNamespace, Name: CatalogSource}
	return []client.Object{
		&corev1.ConfigMap{TypeMeta: typeMeta("v1", "ConfigMap"), ObjectMeta: meta, Data: map[string]string{catalogName: string(catalog)}},
		&corev1.Service{TypeMeta: typeMeta("v1", "Service"), ObjectMeta: meta, Spec: corev1.ServiceSpec{
			Selector: map[string]string{appLabel: "catalogserver"},
			Ports:    []corev1.ServicePort{{Port: catalogPort, TargetPort: intstr.FromInt32(catalogPort)}},
		}},
	}
}

// waitRolledOut waits until the only pod of a Deployment is ready, and has the Deployment's present template.
func waitRolledOut(ctx context.Context, api client.Client, of *appsv1.Deployment) error {
	seen := "it has no status"
	err := wait.PollUntilContextTimeout(ctx, lookAgain, readyWithin, true, func(ctx context.Context) (bool, error) {
		is := &appsv1.Deployment{}
		if err := api.Get(ctx, client.ObjectKeyFromObject(of), is); err != nil {
			seen = err.Error()
			return false, passing(err)
		}
		status := &is.Status
		seen = fmt.Sprintf("of %d pods, %d are new and %d ready", status.Replicas, status.UpdatedReplicas, status.ReadyReplicas)
		return status.ObservedGeneration == is.Generation && status.Replicas == 1 && status.UpdatedReplicas == 1 && status.ReadyReplicas == 1, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for Deployment %s/%s: %s: %w", of.Namespace, of.Name, seen, err)
	}
	return nil
}
