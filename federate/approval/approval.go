// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/marks"
)

// maxGenerated is the greatest length, in bytes, of metadata.generateName before its last dash. It leaves room for the
// suffix that the API server adds.
const maxGenerated = 240

// New returns an Approval for a wrapper, in the namespace where the wrapper's Approvals belong. The wrapper owns the
// Approval, so the Approval is deleted with it. The argument spec has all fields except spec.wrapper, which New sets.
func New(w v1alpha1.Wrapper, spec v1alpha1.ApprovalSpec) *v1alpha1.Approval {
	id := v1alpha1.Identity(w)
	spec.Wrapper = v1alpha1.WrapperReference{Kind: id.Kind, Name: id.Name, UID: id.UID}
	a := &v1alpha1.Approval{
		TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Approval"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace:    id.Beside(),
			GenerateName: marks.Bounded(id.Name+"-"+strings.ToLower(string(spec.Allow)), maxGenerated) + "-",
		},
		Spec: spec,
	}
	if !slices.Contains(w.GetFinalizers(), metav1.FinalizerDeleteDependents) {
		// With this reference the garbage collector deletes the Approval after its wrapper. The reference is left out
		// if a person is deleting the wrapper in the foreground. Otherwise the garbage collector would delete the new
		// Approval at once, before the manager could read it.
		a.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: v1alpha1.GroupVersion.String(), Kind: string(id.Kind), Name: id.Name, UID: id.UID,
		}}
	}
	return a
}
