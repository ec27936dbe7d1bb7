// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Group is the API group of all kinds of Fairlead.
const Group = "federation.fairlead.dev"

// GroupVersion is the group and version that this package registers.
var GroupVersion = schema.GroupVersion{Group: Group, Version: "v1alpha1"}

// AddToScheme registers the kinds of this package in a scheme.
var AddToScheme = schemeBuilder.AddToScheme

var schemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&Federated{}, &FederatedList{},
		&ClusterFederated{}, &ClusterFederatedList{},
		&MemberCluster{}, &MemberClusterList{},
		&Delivery{}, &DeliveryList{},
		&Membership{}, &MembershipList{},
		&Approval{}, &ApprovalList{},
		&MemberReport{}, &MemberReportList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
