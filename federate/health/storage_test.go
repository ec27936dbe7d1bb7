// SPDX-License-Identifier: Apache-2.0

package health_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/health"
)

func TestClaim(t *testing.T) {
	classes := map[string]health.Class{
		"fast": {Provisioner: "ebs.csi.aws.com"},
		"lazy": {Provisioner: "ebs.csi.aws.com", WaitsForConsumer: true},
	}
	withDefault := map[string]health.Class{"fast": {Provisioner: "ebs.csi.aws.com", Default: true}}
	failed := &health.Warning{Reason: "ProvisioningFailed", Message: "quota exceeded", At: now}

	tests := map[string]struct {
		claim   string
		related health.Related
		want    health.Verdict
	}{
		"is healthy when bound": {
			claim:   "spec: {storageClassName: fast}\nstatus: {phase: Bound}",
			related: health.Related{Classes: classes, Warning: failed},
			want:    health.Verdict{Health: v1alpha1.Healthy},
		},
		"is degraded when its volume is lost": {
			claim: "spec: {storageClassName: fast}\nstatus: {phase: Lost}",
			want: health.Verdict{
				Health: v1alpha1.Degraded, Reason: v1alpha1.ReasonClaimLost,
				Message: "the volume of the claim does not exist any more, and its data is lost unless the volume comes back",
			},
		},
		"waits for a pod where its class does": {
			claim:   "spec: {storageClassName: lazy}\nstatus: {phase: Pending}",
			related: health.Related{Classes: classes},
			want: health.Verdict{
				Health: v1alpha1.Waiting, Reason: v1alpha1.ReasonWaitForFirstConsumer,
				Message: "class lazy provisions a volume when a pod uses the claim",
			},
		},
		"is on its way once a pod uses it": {
			claim:   "metadata: {annotations: {volume.kubernetes.io/selected-node: n1}}\nspec: {storageClassName: lazy}\nstatus: {phase: Pending}",
			related: health.Related{Classes: classes},
			want: health.Verdict{
				Health: v1alpha1.Progressing, Reason: v1alpha1.ReasonClaimPending,
				Message: "waiting for ebs.csi.aws.com to provision a volume",
			},
		},
		"is degraded without a class where there is no default": {
			claim:   "spec: {}\nstatus: {phase: Pending}",
			related: health.Related{Classes: classes},
			want: health.Verdict{
				Health: v1alpha1.Degraded, Reason: v1alpha1.ReasonNoDefaultClass,
				Message: "the claim names no StorageClass, and no class of this cluster is the default; name a class in an override, or mark one as default",
			},
		},
		"is on its way without a class where there is a default": {
			claim:   "spec: {}\nstatus: {phase: Pending}",
			related: health.Related{Classes: withDefault},
			want:    health.Verdict{Health: v1alpha1.Progressing, Reason: v1alpha1.ReasonClaimPending},
		},
		"is degraded where its class is missing": {
			claim:   "spec: {storageClassName: gold}\nstatus: {phase: Pending}",
			related: health.Related{Classes: classes},
			want: health.Verdict{
				Health: v1alpha1.Degraded, Reason: v1alpha1.ReasonClassNotFound,
				Message: "this cluster has no StorageClass gold; federate the class too, or name another one in an override",
			},
		},
		"is not degraded for a class that nobody looked for": {
			claim: "spec: {storageClassName: gold}\nstatus: {phase: Pending}",
			want:  health.Verdict{Health: v1alpha1.Progressing, Reason: v1alpha1.ReasonClaimPending},
		},
		"waits for a volume where provisioning is switched off": {
			claim:   "spec: {storageClassName: ''}\nstatus: {phase: Pending}",
			related: health.Related{Classes: withDefault},
			want: health.Verdict{
				Health: v1alpha1.Waiting, Reason: v1alpha1.ReasonClaimPending,
				Message: `no volume matches the claim yet, and with class "" no volume is provisioned`,
			},
		},
		"says what its provisioner says": {
			claim:   "spec: {storageClassName: fast}\nstatus: {phase: Pending}",
			related: health.Related{Classes: classes, Warning: failed},
			want:    health.Verdict{Health: v1alpha1.Degraded, Reason: "ProvisioningFailed", Message: "quota exceeded"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := health.Judge(object(t, "apiVersion: v1\nkind: PersistentVolumeClaim\n"+test.claim), test.related, now)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestReadClass(t *testing.T) {
	tests := map[string]struct {
		class string
		want  health.Class
	}{
		"a default class": {
			class: "metadata: {annotations: {storageclass.kubernetes.io/is-default-class: 'true'}}\nprovisioner: p",
			want:  health.Class{Provisioner: "p", Default: true},
		},
		"a default class of old": {
			class: "metadata: {annotations: {storageclass.beta.kubernetes.io/is-default-class: 'true'}}\nprovisioner: p",
			want:  health.Class{Provisioner: "p", Default: true},
		},
		"a class that waits": {
			class: "provisioner: p\nvolumeBindingMode: WaitForFirstConsumer",
			want:  health.Class{Provisioner: "p", WaitsForConsumer: true},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := health.ReadClass(object(t, "apiVersion: storage.k8s.io/v1\nkind: StorageClass\n"+test.class))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
