// SPDX-License-Identifier: Apache-2.0

package marks

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

func TestANamespaceThatAnEarlierVersionCreatedIsRecognized(t *testing.T) {
	applied := func(manager, json string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationApply, FieldsV1: metav1.NewFieldsV1(json)}
	}
	host := applied(v1alpha1.FieldManager, `{"f:metadata":{"f:labels":{"f:`+v1alpha1.LabelUID+`":{}}}}`)
	for name, test := range map[string]struct {
		entries []metav1.ManagedFieldsEntry
		want    bool
	}{
		"applied only by the host": {[]metav1.ManagedFieldsEntry{host}, true},
		"labelled later by OpenShift's controllers": {[]metav1.ManagedFieldsEntry{host,
			applied("pod-security-admission-label-synchronization-controller", `{"f:metadata":{}}`),
			applied("cluster-policy-controller", `{"f:metadata":{}}`)}, true},
		"applied also by another client, perhaps first": {[]metav1.ManagedFieldsEntry{host, applied("kubectl", `{"f:metadata":{}}`)}, false},
		"created by another client": {[]metav1.ManagedFieldsEntry{host, {Manager: "kubectl-create", Operation: metav1.ManagedFieldsOperationUpdate,
			FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:labels":{"f:kubernetes.io/metadata.name":{}}}}`)}}, false},
		"the host's managedFields entry is missing": {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			ns := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{v1alpha1.LabelUID: "u"}, ManagedFields: test.entries}}
			if got := CreatedBefore(ns); got != test.want {
				t.Errorf("got %t, want %t", got, test.want)
			}
		})
	}
}
