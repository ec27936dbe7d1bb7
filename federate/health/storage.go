// SPDX-License-Identifier: Apache-2.0

package health

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// Class has the properties of a StorageClass that the rules use.
type Class struct {
	Provisioner string
	// WaitsForConsumer is true if a claim of this class is bound only when a pod uses it.
	WaitsForConsumer bool
	Default          bool
}

// Annotations that the rules read.
const (
	// annotationSelectedNode, on a claim, is the node of the pod that uses the claim.
	annotationSelectedNode = "volume.kubernetes.io/selected-node"
	// annotationDefault and annotationBetaDefault, on a StorageClass, are "true" if the class is the default.
	annotationDefault     = "storageclass.kubernetes.io/is-default-class"
	annotationBetaDefault = "storageclass.beta.kubernetes.io/is-default-class"
)

// ReadClass reads a Class from a StorageClass.
func ReadClass(obj *unstructured.Unstructured) Class {
	annotations := obj.GetAnnotations()
	return Class{
		Provisioner:      Clean(text(obj.Object, "provisioner"), 253),
		WaitsForConsumer: text(obj.Object, "volumeBindingMode") == string(storagev1.VolumeBindingWaitForFirstConsumer),
		Default:          annotations[annotationDefault] == "true" || annotations[annotationBetaDefault] == "true",
	}
}

func judgeClaim(obj *unstructured.Unstructured, related Related) Verdict {
	switch phase := text(obj.Object, "status", "phase"); corev1.PersistentVolumeClaimPhase(phase) {
	case corev1.ClaimBound:
		return healthy()
	case corev1.ClaimLost:
		return degraded(v1alpha1.ReasonClaimLost, "the volume of the claim does not exist any more, and its data is lost unless the volume comes back")
	}
	return judgePending(obj, related)
}

// judgePending judges a claim that is not bound, and finds the cause as far as the claim, its class and its events show
// it.
func judgePending(obj *unstructured.Unstructured, related Related) Verdict {
	name, named, _ := unstructured.NestedString(obj.Object, "spec", "storageClassName")
	if text(obj.Object, "spec", "volumeName") != "" {
		return progressing(v1alpha1.ReasonClaimPending, "the claim is being bound to volume "+text(obj.Object, "spec", "volumeName"))
	}
	if named && name == "" {
		return waiting(v1alpha1.ReasonClaimPending, `no volume matches the claim yet, and with class "" no volume is provisioned`)
	}
	if related.Classes == nil {
		return warned(related, progressing(v1alpha1.ReasonClaimPending, ""))
	}
	if !named {
		for _, class := range related.Classes {
			if class.Default {
				return warned(related, progressing(v1alpha1.ReasonClaimPending, ""))
			}
		}
		return degraded(v1alpha1.ReasonNoDefaultClass,
			"the claim names no StorageClass, and no class of this cluster is the default; name a class in an override, or mark one as default")
	}
	class, ok := related.Classes[name]
	if !ok {
		return degraded(v1alpha1.ReasonClassNotFound,
			"this cluster has no StorageClass "+name+"; federate the class too, or name another one in an override")
	}
	if class.WaitsForConsumer && obj.GetAnnotations()[annotationSelectedNode] == "" && related.Warning == nil {
		return waiting(v1alpha1.ReasonWaitForFirstConsumer, "class "+name+" provisions a volume when a pod uses the claim")
	}
	return warned(related, progressing(v1alpha1.ReasonClaimPending, "waiting for "+class.Provisioner+" to provision a volume"))
}

// warned returns v, or a Degraded verdict with the claim's newest Warning event if there is one: provisioners report errors
// only in events.
func warned(related Related, v Verdict) Verdict {
	if w := related.Warning; w != nil {
		return degraded(w.Reason, w.Message)
	}
	return v
}
