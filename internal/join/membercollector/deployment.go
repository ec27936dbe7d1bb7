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
	// Name is the name of the collector's Deployment in fairlead-system of the member, and of its service account.
	Name = "fairlead-collector"

	container  = "collector"
	healthPort = "health"
	// user is the user id that Fairlead's images run as.
	user = 65532
	// tokenSeconds is the lifetime of the pod's token, in seconds. The kubelet renews the token after four fifths of its lifetime.
	tokenSeconds = 3600
	// leaveSeconds is the number of seconds for which the pod stays on a node that does not answer. The default of
	// Kubernetes is five minutes. No collector would observe the member in that time.
	leaveSeconds = 60

	labelManagedBy = "app.kubernetes.io/managed-by"
	managedBy      = "hostctl"
)

// Labels select the pods of the collector.
func Labels() map[string]string {
	return map[string]string{"app.kubernetes.io/name": "fairlead", "app.kubernetes.io/component": container}
}

// IsOurs reports whether a join created obj, which is a collector's Deployment or a pull secret: whether obj has the label
// that MarkOurs adds. A join changes no other object of these names. With collector: External an administrator may run a
// collector of their own under the same name.
func IsOurs(obj metav1.Object) bool { return obj.GetLabels()[labelManagedBy] == managedBy }

// MarkOurs adds one label to a map of labels, the one that the function IsOurs looks for. It returns the same map.
func MarkOurs(labels map[string]string) map[string]string {
	labels[labelManagedBy] = managedBy
	return labels
}

// Deployment returns the Deployment of the collector on a member.
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
		// Near this memory size Go's garbage collector runs more often, so that the process stays below the container's memory
		// limit, at which the kernel would kill it.
		Env:   []corev1.EnvVar{{Name: "GOMEMLIMIT", Value: "230MiB"}},
		Ports: []corev1.ContainerPort{{Name: healthPort, ContainerPort: 8081, Protocol: corev1.ProtocolTCP}},
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("20m"), corev1.ResourceMemory: resource.MustParse("64Mi")},
			Limits:   corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("256Mi")},
		},
		LivenessProbe: &corev1.Probe{ProbeHandler: probe("/healthz"), InitialDelaySeconds: 10, PeriodSeconds: 20, TimeoutSeconds: 5},
		// The pod is ready once the collector has written a heartbeat. So a rolling update keeps the old pod until the
		// new pod observes the member.
		ReadinessProbe: &corev1.Probe{ProbeHandler: probe("/readyz"), PeriodSeconds: 5, TimeoutSeconds: 5},
		SecurityContext: &corev1.SecurityContext{AllowPrivilegeEscalation: ptr.To(false), ReadOnlyRootFilesystem: ptr.To(true),
			Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}},
		// With this policy the kubelet puts the last log lines of a crashed collector into the pod's status. The manager
		// reads them there, and shows them to the person on call.
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		VolumeMounts:             []corev1.VolumeMount{{Name: "token", MountPath: "/var/run/secrets/kubernetes.io/serviceaccount", ReadOnly: true}},
	}
}

// token is the volume with the pod's token and CA, in the layout that client-go expects.
func token() *corev1.ProjectedVolumeSource {
	return &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
		{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", ExpirationSeconds: ptr.To(int64(tokenSeconds))}},
		{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"},
			Items: []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}}}},
		{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{
			{Path: "namespace", FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.namespace"}}}}},
	}}
}

// ours returns the tolerations that every collector has, whatever the user gives.
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
