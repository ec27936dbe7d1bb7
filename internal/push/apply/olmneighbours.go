// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operators "github.com/operator-framework/api/pkg/operators/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/marks"
	"github.com/fairlead-dev/fairlead/federate/messages"
	"github.com/fairlead-dev/fairlead/internal/member"
	"github.com/fairlead-dev/fairlead/internal/push/memberapi"
)

// maxNamedNeighbours is how many neighbours a message names.
const maxNamedNeighbours = 3

var (
	operatorGroups = schema.GroupKind{Group: operatorsv1.GroupVersion.Group, Kind: operatorsv1.OperatorGroupKind}
	subscriptions  = schema.GroupKind{Group: operators.GroupName, Kind: operators.SubscriptionKind}
)

// mayDisturb reports whether the creation of an object could break the operators of other owners in its namespace.
func mayDisturb(it *item) bool {
	return it.groupKind() == operatorGroups || it.groupKind() == subscriptions
}

// disturbsNeighbours reports whether the creation of an absent object would break the operators of other owners in its
// namespace. Then it adds trouble, and the object must not be applied. OLM installs and upgrades nothing in a namespace with two
// OperatorGroups. And one Manual Subscription makes all InstallPlans of its namespace wait for approval. An object that was there
// before is made again without this check: its neighbours came after it, or live with it.
func (a *applier) disturbsNeighbours(ctx context.Context, it *item) (bool, error) {
	if !mayDisturb(it) || it.wasThere {
		return false, nil
	}
	switch it.groupKind() {
	case operatorGroups:
		others, err := a.neighbours(ctx, it)
		if err != nil {
			return a.unread(it, err)
		}
		if len(others) == 0 {
			return false, nil
		}
		a.trouble.Add(memberapi.Stalled(v1alpha1.ReasonOperatorGroupExists,
			"%s: namespace %s has OperatorGroup %s, and with two of them OLM installs nothing there; take it out of the wrapper, or use another namespace",
			it, it.object.Namespace, messages.Few(others, maxNamedNeighbours)))
		return true, nil
	case subscriptions:
		if a.desired.SharesNamespace {
			return false, nil
		}
		if obj, err := it.object.Unstructured(); err != nil || obj.GetAnnotations()[v1alpha1.AnnotationTargetCSV] == "" {
			return false, err
		}
		others, err := a.neighbours(ctx, it)
		if err != nil {
			return a.unread(it, err)
		}
		if len(others) == 0 {
			return false, nil
		}
		a.trouble.Add(memberapi.Stalled(v1alpha1.ReasonNamespaceShared,
			"%s: namespace %s has Subscription %s of another owner, and one Manual Subscription makes all upgrades there wait for approval; use another "+
				"namespace, or set spec.upgrade.sharedNamespace: Allow", it, it.object.Namespace, messages.Few(others, maxNamedNeighbours)))
		return true, nil
	}
	return false, nil
}

// generatedBy is OLM's annotation on a Subscription that it made for a dependency: its owner is that of another Subscription.
const generatedBy = "olm.generated-by"

// neighbours are the names of the other objects of an object's kind in its namespace, without those of this wrapper, also of an
// earlier one of its name, and without those that OLM generated.
func (a *applier) neighbours(ctx context.Context, it *item) (names []string, err error) {
	path := member.Path(it.mapping.Resource, it.object.Namespace, "")
	w := &a.desired.Wrapper
	wrapper := marks.WrapperPath(w.Kind, w.Namespace, w.Name)
	err = member.EachMetadata(ctx, a.conn, path, func(other *metav1.PartialObjectMetadata) error {
		_, generated := other.Annotations[generatedBy]
		if other.Name != it.object.Name && !generated && (other.Labels[v1alpha1.LabelUID] == "" || other.Annotations[v1alpha1.AnnotationWrapper] != wrapper) {
			names = append(names, other.Name)
		}
		return nil
	})
	return names, err
}

// unread turns a refusal of the list into trouble of the object, and returns errors that concern the whole member.
func (a *applier) unread(it *item, err error) (refused bool, _ error) {
	switch {
	case apierrors.IsNotFound(err):
		return false, nil // there is no such kind any more; the apply itself tells that
	case memberapi.AnsweredAbout(it.entry.Group, err):
		a.trouble.Add(memberapi.ExplainWithout("list", "listing the neighbours of", it.String(), err))
		return true, nil
	}
	return true, fmt.Errorf("listing the neighbours of %s on member %s: %w", it, a.conn.Name(), err)
}
