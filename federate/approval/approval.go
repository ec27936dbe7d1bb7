// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/marks"
)

// maxGenerated is the longest prefix of a generated name that leaves room for the suffix of the API server.
const maxGenerated = 240

// New returns an Approval for a wrapper, as hostctl writes it: in the namespace beside the wrapper, and owned by it.
// spec has all fields except for the wrapper.
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
		// The Approval is deleted with its wrapper. If the garbage collector is already deleting the wrapper's
		// dependents, it would delete an owned Approval immediately.
		a.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: v1alpha1.GroupVersion.String(), Kind: string(id.Kind), Name: id.Name, UID: id.UID,
		}}
	}
	return a
}
