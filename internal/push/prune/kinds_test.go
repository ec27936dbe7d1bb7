// SPDX-License-Identifier: Apache-2.0

package prune

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/retention"
)

func TestKeptKinds(t *testing.T) {
	kinds := map[string]bool{
		"PersistentVolumeClaim": true, "PersistentVolume": true, "Namespace": true,
		"CustomResourceDefinition.apiextensions.k8s.io": true, "StorageClass.storage.k8s.io": true,
		"VolumeSnapshot.snapshot.storage.k8s.io": true, "VolumeSnapshotContent.snapshot.storage.k8s.io": true,
		"VolumeGroupSnapshot.groupsnapshot.storage.k8s.io": true,
		"ConfigMap": false, "Deployment.apps": false, "Subscription.operators.coreos.com": false,
		"VolumeSnapshotClass.snapshot.storage.k8s.io": false,
	}
	for kind, kept := range kinds {
		gk := schema.ParseGroupKind(kind)
		want := map[string]bool{"KeepData": kept, "KeepData, keep: true": true, "KeepData, keep: false": false,
			"DeleteAll": false, "DeleteAll, keep: true": true, "KeepAll, keep: false": true}
		got := map[string]bool{
			"KeepData": retention.IsKept(v1alpha1.KeepData, gk, ""), "KeepData, keep: true": retention.IsKept(v1alpha1.KeepData, gk, "true"),
			"KeepData, keep: false": retention.IsKept(v1alpha1.KeepData, gk, "false"), "DeleteAll": retention.IsKept(v1alpha1.DeleteAll, gk, ""),
			"DeleteAll, keep: true": retention.IsKept(v1alpha1.DeleteAll, gk, "true"), "KeepAll, keep: false": retention.IsKept(v1alpha1.KeepAll, gk, "false"),
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", kind, diff)
		}
		if wantReplace := !kept || gk.Kind == "StorageClass"; MayReplace(gk) != wantReplace {
			t.Errorf("%s may be replaced: %v", kind, !wantReplace)
		}
	}
}

func TestWhichKindsOnlyRestrict(t *testing.T) {
	for kind, want := range map[string]bool{
		"ResourceQuota": true, "LimitRange": true, "NetworkPolicy.networking.k8s.io": true, "PodDisruptionBudget.policy": true,
		"ValidatingWebhookConfiguration.admissionregistration.k8s.io": true, "MutatingWebhookConfiguration.admissionregistration.k8s.io": true,
		"ValidatingAdmissionPolicy.admissionregistration.k8s.io": true, "ValidatingAdmissionPolicyBinding.admissionregistration.k8s.io": true,
		"ConfigMap": false, "Service": false, "NetworkPolicy.example.com": false,
	} {
		if got := onlyRestricts(schema.ParseGroupKind(kind)); got != want {
			t.Errorf("%s: %v", kind, got)
		}
	}
}
