// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/marks"
)

// maxGenerated is the longest prefix of a generated name that leaves room for what the API server appends.
const maxGenerated = 240

// New is an Approval for a wrapper, as hostctl writes it: beside the wrapper, and owned by it. spec
// says all but whom it is for.
func New(w v1alpha1.Wrapper, spec v1alpha1.ApprovalSpec) *v1alpha1.Approval {
	id := v1alpha1.Identity(w)
	spec.Wrapper = v1alpha1.ApprovedWrapper{Kind: id.Kind, Name: id.Name, UID: id.UID}
	a := &v1alpha1.Approval{
		TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Approval"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace:    id.Beside(),
			GenerateName: marks.Bounded(id.Name+"-"+strings.ToLower(string(spec.Allow)), maxGenerated) + "-",
		},
		Spec: spec,
	}
	if !slices.Contains(w.GetFinalizers(), metav1.FinalizerDeleteDependents) {
		// It goes with its wrapper. Where what the wrapper owns is deleted first it would go at once.
		a.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: v1alpha1.GroupVersion.String(), Kind: string(id.Kind), Name: id.Name, UID: id.UID,
		}}
	}
	return a
}
