// SPDX-License-Identifier: Apache-2.0

package marks

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// afterCreation are the field managers of OpenShift that add labels and annotations to each namespace right after its
// creation.
var afterCreation = map[string]bool{
	"cluster-policy-controller": true, "pod-security-admission-label-synchronization-controller": true,
}

// CreatedBefore reports whether an earlier version of Fairlead created a namespace for a ClusterFederated. That version
// did not set LabelMade. The marks do not prove that it created the namespace, because it also marked namespaces that
// it adopted. The managedFields prove it: any other way of creating a namespace leaves the creating client as the owner of
// the label kubernetes.io/metadata.name. If no client owns that label, server-side apply created the namespace.
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
