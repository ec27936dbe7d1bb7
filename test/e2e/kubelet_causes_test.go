// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
)

// localPath is the provisioner of kind's nodes.
const localPath = "rancher.io/local-path"

// faultsOfKubelets are the cases of docs/troubleshooting.md that a kubelet, a real scheduler or a real provisioner causes. Most are on
// member-1, which has the default grants. Only member-2 has a node with a taint and workers.
//
// On member-1, immediate is a class of the provisioner local-path that provisions a volume before a pod uses the claim. The provisioner
// refuses that, because it needs the node of the pod. On member-3, newDefault is a second default class.
func faultsOfKubelets(immediate, newDefault string) []*fault {
	on := func(member string, objects ...*unstructured.Unstructured) *build.Builder[*v1alpha1.Federated] {
		return build.Federated("web").To(member).With(objects...)
	}
	one := func(objects ...*unstructured.Unstructured) *build.Builder[*v1alpha1.Federated] {
		return on("member-1", objects...)
	}
	deployment := func(container, more string) *unstructured.Unstructured {
		return withPods("web", "", "terminationGracePeriodSeconds: 1, containers: ["+container+"]"+more)
	}
	degraded, progressing := v1alpha1.StateDegraded, v1alpha1.StateProgressing
	return []*fault{
		{number: "1", name: "image", wrapper: one(deployment(`{name: app, image: "registry.invalid/nothing:1"}`, "")), state: degraded, reason: "ImagePullBackOff",
			sign: podFails, words: []string{"Deployment web: pod web-", "its image registry.invalid/nothing:1 cannot be pulled"}, evidence: []string{"registry.invalid/nothing:1"}},
		{number: "2", name: "crash", wrapper: one(deployment(container("crash"), "")), state: degraded, reason: "CrashLoopBackOff",
			sign: podFails, words: []string{"ended with exit code 1", "from its log: Error: the test pod ends with an error"}, evidence: []string{"the test pod ends with an error"}},
		{number: "3", name: "memory", wrapper: one(deployment(with(container("eat"), "resources: {limits: {memory: 32Mi}}"), "")), state: degraded, reason: "OOMKilled",
			sign: podFails, words: []string{"container app used more memory than its limit of 32Mi and was killed"}, evidence: []string{`"pod":"web-`}},
		{number: "4", name: "unready", wrapper: one(deployment(with(container("serve"), "readinessProbe: {tcpSocket: {port: 1}, periodSeconds: 1}"), "")),
			state: progressing, reason: v1alpha1.ReasonPodNotReady, sign: podFails, words: []string{"container app runs and is not ready"}, evidence: []string{"Readiness probe failed"}},
		{number: "5", name: "cpu", wrapper: one(deployment(with(container("serve"), `resources: {requests: {cpu: "1000"}}`), "")), state: progressing,
			reason: "Unschedulable", sign: podFails, words: []string{"it cannot be scheduled", "Insufficient cpu"}, evidence: []string{"FailedScheduling"}},
		{number: "6", name: "taint", wrapper: on("member-2", deployment(container("serve"), `, nodeSelector: {node-role.kubernetes.io/control-plane: ""}`)), state: progressing,
			reason: "Unschedulable", sign: podFails, words: []string{"untolerated taint"}, evidence: []string{"FailedScheduling"}},
		{number: "7", name: "quota", wrapper: one(deployment(container("serve"), "")), state: degraded, reason: "FailedCreate",
			sign: conditionTrue("ReplicaSet.v1.apps", "ReplicaFailure"), words: []string{"its pods cannot be created", "exceeded quota: none"}, evidence: []string{"FailedCreate"}, prepare: allowNoPods},
		{number: "8", name: "class", wrapper: one(claimOf("data", "no-such-class"),
			deployment(container("serve"), ", volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]")),
			state: degraded, reason: v1alpha1.ReasonClassNotFound, sign: created("PersistentVolumeClaim"), words: []string{"PersistentVolumeClaim data", "no StorageClass no-such-class"}, evidence: []string{"ProvisioningFailed"}},
		{number: "9", name: "provisioner-fails", wrapper: one(claimOf("data", immediate)), state: degraded, reason: "ProvisioningFailed",
			sign: created("PersistentVolumeClaim"), words: []string{"PersistentVolumeClaim data", "failed to provision volume", "no node was specified"}, evidence: []string{"no node was specified"}},
		{number: "10", name: "no-default", wrapper: one(build.Claim("data")), state: degraded,
			reason: v1alpha1.ReasonNoDefaultClass, sign: created("PersistentVolumeClaim"), words: []string{"no class of this cluster is the default"}, evidence: []string{"FailedBinding"}, prepare: withoutDefaultClass},
		twoDefaults(newDefault),
		{number: "11", name: "consumer", wrapper: on("member-2", build.Claim("data")), state: v1alpha1.StateWaiting, reason: v1alpha1.ReasonWaitForFirstConsumer,
			sign: created("PersistentVolumeClaim"), words: []string{"provisions a volume when a pod uses the claim"}},
	}
}

var _ = withKubelets("The cause of a fault that a kubelet shows", func() {
	It("is told at the host for each of these cases in docs/troubleshooting.md", func(ctx SpecContext) {
		immediate, newDefault := unique("immediate"), unique("newer")
		fleet.Member("member-1").newClass(ctx, immediate, localPath, storagev1.VolumeBindingImmediate)
		fleet.Member("member-3").newDefaultClass(ctx, newDefault, localPath)
		expectTold(ctx, faultsOfKubelets(immediate, newDefault), podsWithin)
	}, SpecTimeout(specWithin))
})
