// SPDX-License-Identifier: Apache-2.0

package author

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// kindsOf lists the kinds of one API group by scope, separated by spaces. A kind that is in neither list has an unknown
// scope.
type kindsOf struct{ cluster, namespaced string }

// kubernetes lists, by API group, common kinds of Kubernetes itself.
var kubernetes = map[string]kindsOf{
	"": {"Namespace Node PersistentVolume", "ConfigMap Endpoints Event LimitRange PersistentVolumeClaim Pod PodTemplate " +
		"ReplicationController ResourceQuota Secret Service ServiceAccount"},
	"apps":        {"", "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet"},
	"autoscaling": {"", "HorizontalPodAutoscaler"},
	"batch":       {"", "CronJob Job"},
	"policy":      {"", "PodDisruptionBudget"},
	"admissionregistration.k8s.io": {"MutatingAdmissionPolicy MutatingAdmissionPolicyBinding MutatingWebhookConfiguration " +
		"ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding ValidatingWebhookConfiguration", ""},
	"apiextensions.k8s.io":         {"CustomResourceDefinition", ""},
	"apiregistration.k8s.io":       {"APIService", ""},
	"certificates.k8s.io":          {"CertificateSigningRequest ClusterTrustBundle", "PodCertificateRequest"},
	"coordination.k8s.io":          {"", "Lease LeaseCandidate"},
	"discovery.k8s.io":             {"", "EndpointSlice"},
	"events.k8s.io":                {"", "Event"},
	"flowcontrol.apiserver.k8s.io": {"FlowSchema PriorityLevelConfiguration", ""},
	"networking.k8s.io":            {"IPAddress IngressClass ServiceCIDR", "Ingress NetworkPolicy"},
	"node.k8s.io":                  {"RuntimeClass", ""},
	"rbac.authorization.k8s.io":    {"ClusterRole ClusterRoleBinding", "Role RoleBinding"},
	"resource.k8s.io":              {"DeviceClass DeviceTaintRule ResourceSlice", "ResourceClaim ResourceClaimTemplate"},
	"scheduling.k8s.io":            {"PriorityClass", ""},
	"storage.k8s.io":               {"CSIDriver CSINode StorageClass VolumeAttachment VolumeAttributesClass", "CSIStorageCapacity"},
}

// addons lists, by API group, common kinds that are defined by CRDs of well-known projects.
var addons = map[string]kindsOf{
	// Kubernetes' special interest groups.
	"gateway.networking.k8s.io": {"GatewayClass", "BackendTLSPolicy GRPCRoute Gateway HTTPRoute ListenerSet ReferenceGrant TCPRoute " +
		"TLSRoute UDPRoute"},
	"snapshot.storage.k8s.io":      {"VolumeSnapshotClass VolumeSnapshotContent", "VolumeSnapshot"},
	"groupsnapshot.storage.k8s.io": {"VolumeGroupSnapshotClass VolumeGroupSnapshotContent", "VolumeGroupSnapshot"},
	"policy.networking.k8s.io":     {"AdminNetworkPolicy BaselineAdminNetworkPolicy ClusterNetworkPolicy", ""},
	"autoscaling.k8s.io":           {"", "VerticalPodAutoscaler VerticalPodAutoscalerCheckpoint"},
	// OLM.
	"operators.coreos.com": {"OLMConfig Operator", "CatalogSource ClusterServiceVersion InstallPlan OperatorCondition OperatorGroup " +
		"Subscription"},
	"olm.operatorframework.io": {"ClusterCatalog ClusterExtension", ""},
	// OpenShift.
	"security.openshift.io":             {"SecurityContextConstraints", ""},
	"project.openshift.io":              {"Project", ""},
	"route.openshift.io":                {"", "Route"},
	"apps.openshift.io":                 {"", "DeploymentConfig"},
	"build.openshift.io":                {"", "Build BuildConfig"},
	"image.openshift.io":                {"", "ImageStream ImageStreamTag"},
	"template.openshift.io":             {"", "Template"},
	"user.openshift.io":                 {"Group Identity User", ""},
	"oauth.openshift.io":                {"OAuthClient", ""},
	"console.openshift.io":              {"ConsoleCLIDownload ConsoleLink ConsoleNotification ConsolePlugin ConsoleQuickStart ConsoleYAMLSample", ""},
	"machineconfiguration.openshift.io": {"ContainerRuntimeConfig KubeletConfig MachineConfig MachineConfigPool", ""},
	// cert-manager.
	"cert-manager.io":       {"ClusterIssuer", "Certificate CertificateRequest Issuer"},
	"acme.cert-manager.io":  {"", "Challenge Order"},
	"trust.cert-manager.io": {"Bundle", ""},
	// The Prometheus operator.
	"monitoring.coreos.com": {"", "Alertmanager AlertmanagerConfig PodMonitor Probe Prometheus PrometheusAgent PrometheusRule ScrapeConfig " +
		"ServiceMonitor ThanosRuler"},
	// Rook and Ceph-CSI.
	"ceph.rook.io": {"", "CephBlockPool CephBlockPoolRadosNamespace CephBucketNotification CephBucketTopic CephCOSIDriver CephClient CephCluster " +
		"CephFilesystem CephFilesystemMirror CephFilesystemSubVolumeGroup CephNFS CephNVMeOFGateway CephObjectRealm CephObjectStore " +
		"CephObjectStoreUser CephObjectZone CephObjectZoneGroup CephRBDMirror"},
	"csi.ceph.io":     {"", "CephConnection ClientProfile ClientProfileMapping Driver OperatorConfig"},
	"objectbucket.io": {"ObjectBucket", "ObjectBucketClaim"},
	// Others that many clusters have.
	"argoproj.io": {"ClusterAnalysisTemplate ClusterWorkflowTemplate", "AnalysisRun AnalysisTemplate AppProject Application ApplicationSet " +
		"CronWorkflow Experiment Rollout Workflow WorkflowTemplate"},
	"external-secrets.io": {"ClusterExternalSecret ClusterPushSecret ClusterSecretStore", "ExternalSecret PushSecret SecretStore"},
	"keda.sh":             {"ClusterTriggerAuthentication", "ScaledJob ScaledObject TriggerAuthentication"},
	"kyverno.io":          {"ClusterPolicy", "Policy"},
	"cilium.io":           {"CiliumClusterwideNetworkPolicy", "CiliumNetworkPolicy"},
	"karpenter.sh":        {"NodeClaim NodePool", ""},
	"velero.io":           {"", "Backup BackupStorageLocation Restore Schedule VolumeSnapshotLocation"},
}

// builtIn returns the scope of a kind that is in the tables of this file; "" for other kinds.
func builtIn(gk schema.GroupKind) Scope {
	for _, known := range []map[string]kindsOf{kubernetes, addons} {
		kinds := known[gk.Group]
		for kind := range strings.FieldsSeq(kinds.cluster) {
			if kind == gk.Kind {
				return ClusterScoped
			}
		}
		for kind := range strings.FieldsSeq(kinds.namespaced) {
			if kind == gk.Kind {
				return Namespaced
			}
		}
	}
	return ""
}
