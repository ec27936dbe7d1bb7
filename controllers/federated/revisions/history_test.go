// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

func TestTheWrapperOfARevisionIsItsOwner(t *testing.T) {
	owner := func(apiVersion, kind string) []metav1.OwnerReference {
		return []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: "web", UID: "u"}}
	}
	own := v1alpha1.GroupVersion.String()
	for name, test := range map[string]struct {
		owners []metav1.OwnerReference
		want   corev1.ObjectReference
		ok     bool
	}{
		"no owner":                 {},
		"an owner of another kind": {owners: owner("apps/v1", "StatefulSet")},
		"a Federated": {owner(own, "Federated"),
			corev1.ObjectReference{APIVersion: own, Kind: "Federated", Namespace: "shop", Name: "web", UID: "u"}, true},
		"a ClusterFederated has no namespace": {owner(own, "ClusterFederated"),
			corev1.ObjectReference{APIVersion: own, Kind: "ClusterFederated", Name: "web", UID: "u"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			revision := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", OwnerReferences: test.owners}}
			if got, ok := ownerOf(revision); ok != test.ok || got != test.want {
				t.Errorf("%v, %v", got, ok)
			}
		})
	}
}
