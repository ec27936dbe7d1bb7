// SPDX-License-Identifier: Apache-2.0

package permissions

import (
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

func TestADefaultThatAnAPIServerFillsInIsNoOtherPolicy(t *testing.T) {
	spec, _ := PolicySpec(v1alpha1.NamespacesManaged, v1alpha1.CollectorMember)
	spec.MatchConstraints.MatchPolicy = ptr.To(admissionregistrationv1.MatchPolicyType("OfALaterVersion"))
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{Spec: spec}
	if !IsInForce(policy, v1alpha1.NamespacesManaged, v1alpha1.CollectorMember) {
		t.Error("the policy with another default is taken for that of another join")
	}
	if IsInForce(policy, v1alpha1.NamespacesAll, v1alpha1.CollectorMember) || IsInForce(policy, v1alpha1.NamespacesManaged, v1alpha1.CollectorHost) {
		t.Error("the policy of other settings is taken for this one")
	}
	if IsInForce(&admissionregistrationv1.ValidatingAdmissionPolicy{}, v1alpha1.NamespacesManaged, v1alpha1.CollectorMember) {
		t.Error("no policy is taken for this one")
	}
}
