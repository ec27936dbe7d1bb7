// SPDX-License-Identifier: Apache-2.0

package build

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// groups are the groups of the kinds in reports. A kind that is not here is in the core group.
var groups = map[string]string{"Deployment": "apps", "Job": "batch", "Subscription": "operators.coreos.com"}

// MemberReport returns a report about an object of a wrapper on these members. It names the first of them in
// status.cluster, and has no evidence.
func MemberReport(w v1alpha1.Wrapper, suffix, kind, object, reason string, members ...string) *v1alpha1.MemberReport {
	namespace := w.GetNamespace()
	if namespace == "" {
		namespace = v1alpha1.SystemNamespace
	}
	return &v1alpha1.MemberReport{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: w.GetName() + "." + suffix, OwnerReferences: []metav1.OwnerReference{{
			APIVersion: v1alpha1.GroupVersion.String(), Kind: string(w.WrapperKind()), Name: w.GetName(), UID: w.GetUID()}}},
		Spec: v1alpha1.MemberReportSpec{Wrapper: v1alpha1.WrapperReference{Kind: w.WrapperKind(), Name: w.GetName(), UID: w.GetUID()}},
		Status: v1alpha1.MemberReportStatus{Object: v1alpha1.ReportedObject{Group: groups[kind], Kind: kind, Name: object}, Reason: reason, Cluster: members[0],
			Clusters: members, ClusterCount: int32(len(members))},
	}
}
