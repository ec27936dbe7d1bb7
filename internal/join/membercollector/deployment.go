// SPDX-License-Identifier: Apache-2.0

package membercollector

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

const (
	// Name is the name of the Deployment in fairlead-system of the member, and of its account.
	Name = "fairlead-collector"

	container  = "collector"
	healthPort = "health"
	// user is the user of the images.
	user = 65532
	// tokenSeconds is the lifetime of the pod's token. The kubelet renews it after four fifths of it.
	tokenSeconds = 3600
	// leaveSeconds is how long the pod stays on a node that does not answer. Kubernetes' own default is five minutes, in
	// which the member would go unobserved.
	leaveSeconds = 60

	labelManagedBy = "app.kubernetes.io/managed-by"
	managedBy      = "hostctl"
)

// Labels select the pods of the collector.
func Labels() map[string]string {
	return map[string]string{"app.kubernetes.io/name": "fairlead", "app.kubernetes.io/component": container}
}

// IsOurs reports whether a join made an object of the collector's name. An administrator may run a collector of their own
// under that name (collector: External), and a join leaves it alone.
func IsOurs(obj metav1.Object) bool { return obj.GetLabels()[labelManagedBy] == managedBy }

// MarkOurs puts the mark that IsOurs reads into labels.
func MarkOurs(labels map[string]string) map[string]string {
	labels[labelManagedBy] = managedBy
	return labels
}

// Deployment is the Deployment of the collector on a member.
func Deployment(s Settings) *appsv1.Deployment {
	var pullSecrets []corev1.LocalObjectReference
	for _, name := range s.PullSecrets {
		pullSecrets = append(pullSecrets, corev1.LocalObjectReference{Name: name})
	}
	return &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: appsv1.SchemeGroupVersion.String(), Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: Name, Labels: MarkOurs(Labels()), Annotations: s.annotations},
		Spec: appsv1.DeploymentSpec{
			Replicas:             ptr.To(int32(1)),
			RevisionHistoryLimit: ptr.To(int32(2)),
			Strategy: appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: &appsv1.RollingUpdateDeployment{
				MaxUnavailable: ptr.To(intstr.FromInt32(0)), MaxSurge: ptr.To(intstr.FromInt32(1))}},
			Selector: &metav1.LabelSelector{MatchLabels: Labels()},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: Labels(), Annotations: map[string]string{"kubectl.kubernetes.io/default-container": container}},
				Spec: corev1.PodSpec{
					ServiceAccountName:            Name,
					AutomountServiceAccountToken:  ptr.To(false), // the volume below holds the token
					EnableServiceLinks:            ptr.To(false),
					TerminationGracePeriodSeconds: ptr.To(int64(20)),
					ImagePullSecrets:              pullSecrets,
					Tolerations:                   slices.Concat(s.Tolerations, ours()),
					SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: ptr.To(true), RunAsUser: ptr.To(int64(user)), RunAsGroup: ptr.To(int64(user)),
						FSGroup: ptr.To(int64(user)), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
					Containers: []corev1.Container{collector(s)},
					Volumes:    []corev1.Volume{{Name: "token", VolumeSource: corev1.VolumeSource{Projected: token()}}},
				},
			},
		},
	}
}

func collector(s Settings) corev1.Container {
	probe := func(path string) corev1.ProbeHandler {
		return corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromString(healthPort)}}
	}
	return corev1.Container{
		Name:            container,
		Image:           s.Image,
		ImagePullPolicy: s.PullPolicy,
		Args:            []string{"--cluster-name=" + s.ClusterName, "--health-address=:8081"},
		// Go then collects garbage before the kernel ends the process at the limit.
		Env:   []corev1.EnvVar{{Name: "GOMEMLIMIT", Value: "230MiB"}},
		Ports: []corev1.ContainerPort{{Name: healthPort, ContainerPort: 8081, Protocol: corev1.ProtocolTCP}},
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("20m"), corev1.ResourceMemory: resource.MustParse("64Mi")},
			Limits:   corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("256Mi")},
		},
		LivenessProbe: &corev1.Probe{ProbeHandler: probe("/healthz"), InitialDelaySeconds: 10, PeriodSeconds: 20, TimeoutSeconds: 5},
		// It is ready once it has written a heartbeat. So an update leaves the old pod until the new one observes.
		ReadinessProbe: &corev1.Probe{ProbeHandler: probe("/readyz"), PeriodSeconds: 5, TimeoutSeconds: 5},
		SecurityContext: &corev1.SecurityContext{AllowPrivilegeEscalation: ptr.To(false), ReadOnlyRootFilesystem: ptr.To(true),
			Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}},
		// So the manager can report the last lines that a crashed collector logged.
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		VolumeMounts:             []corev1.VolumeMount{{Name: "token", MountPath: "/var/run/secrets/kubernetes.io/serviceaccount", ReadOnly: true}},
	}
}

// token is the volume in which client-go looks for the account of a pod.
func token() *corev1.ProjectedVolumeSource {
	return &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
		{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", ExpirationSeconds: ptr.To(int64(tokenSeconds))}},
		{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"},
			Items: []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}}}},
		{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{
			{Path: "namespace", FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.namespace"}}}}},
	}}
}

// ours are the tolerations that every collector has.
func ours() []corev1.Toleration {
	var all []corev1.Toleration
	for _, key := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
		all = append(all, corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute,
			TolerationSeconds: ptr.To(int64(leaveSeconds))})
	}
	return all
}

func isOurs(t corev1.Toleration) bool {
	return slices.ContainsFunc(ours(), func(o corev1.Toleration) bool { return o.MatchToleration(&t) })
}
