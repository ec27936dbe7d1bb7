// SPDX-License-Identifier: Apache-2.0

package marks

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// afterCreation are controllers of OpenShift that apply labels and annotations to every namespace right after its
// creation.
var afterCreation = map[string]bool{
	"cluster-policy-controller": true, "pod-security-admission-label-synchronization-controller": true,
}

// CreatedBefore recognizes a namespace that a ClusterFederated created on a member in a version that did not set
// LabelMade. The mark alone is no proof: those versions also put it on namespaces that they adopted. Server-side apply
// leaves the label kubernetes.io/metadata.name without an owner. Any other create gives it an owner.
func CreatedBefore(namespace *metav1.PartialObjectMetadata) bool {
	if namespace.Labels[v1alpha1.LabelUID] == "" || Fields(namespace.ManagedFields) == nil {
		return false
	}
	for i := range namespace.ManagedFields {
		e := &namespace.ManagedFields[i]
		if e.Manager == v1alpha1.FieldManager || e.Subresource != "" || afterCreation[e.Manager] {
			continue
		}
		if e.Operation == metav1.ManagedFieldsOperationApply ||
			e.FieldsV1 != nil && strings.Contains(string(e.FieldsV1.GetRawBytes()), corev1.LabelMetadataName) {
			return false
		}
	}
	return true
}
