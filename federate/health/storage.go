// SPDX-License-Identifier: Apache-2.0

package health

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// Class is the part of a StorageClass that the rules use.
type Class struct {
	Provisioner string
	// WaitsForConsumer: a claim is bound when a pod uses it, not before.
	WaitsForConsumer bool
	Default          bool
}

// The annotations for the node of a claim's consumer, and for the default class.
const (
	annotationSelectedNode = "volume.kubernetes.io/selected-node"
	annotationDefault      = "storageclass.kubernetes.io/is-default-class"
	annotationBetaDefault  = "storageclass.beta.kubernetes.io/is-default-class"
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
		return degraded(v1alpha1.ReasonClaimLost, "the volume it was bound to is gone, and the data with it unless the volume comes back")
	}
	return judgePending(obj, related)
}

// judgePending finds out why a claim is not bound, as far as that can be known.
func judgePending(obj *unstructured.Unstructured, related Related) Verdict {
	name, named, _ := unstructured.NestedString(obj.Object, "spec", "storageClassName")
	if text(obj.Object, "spec", "volumeName") != "" {
		return progressing(v1alpha1.ReasonClaimPending, "it is being bound to volume "+text(obj.Object, "spec", "volumeName"))
	}
	if named && name == "" {
		return waiting(v1alpha1.ReasonClaimPending, `no volume matches it yet; class "" means that none is provisioned`)
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
			"it names no class, and no StorageClass of this cluster is the default; name one in an override, or mark one as default")
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

// warned adds a claim's newest warning to a verdict: provisioners only write events.
func warned(related Related, v Verdict) Verdict {
	if w := related.Warning; w != nil {
		return degraded(w.Reason, w.Message)
	}
	return v
}
