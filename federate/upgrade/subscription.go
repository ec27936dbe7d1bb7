// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	operators "github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// Subscription is the only kind of OLM v0 that has a target.
var Subscription = schema.GroupKind{Group: operators.GroupName, Kind: operators.SubscriptionKind}

// TargetOf returns the target in a rendered Subscription; "" if spec.upgrade does not name the Subscription.
func TargetOf(sub metav1.Object) string { return sub.GetAnnotations()[v1alpha1.AnnotationTargetCSV] }

// generatedBy is the annotation that OLM sets on a Subscription that it creates for a dependency.
const generatedBy = "olm.generated-by"

// IsGenerated reports whether OLM has created a Subscription for a dependency. Such a Subscription belongs to the owner of the
// Subscription that needs the dependency.
func IsGenerated(sub metav1.Object) bool {
	_, generated := sub.GetAnnotations()[generatedBy]
	return generated
}
