// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/marks"
	"github.com/fairlead-dev/fairlead/federate/messages"
	"github.com/fairlead-dev/fairlead/federate/upgrade"
	"github.com/fairlead-dev/fairlead/internal/member"
	"github.com/fairlead-dev/fairlead/internal/push/memberapi"
	"github.com/fairlead-dev/fairlead/internal/push/plan"
)

// maxNamedNeighbours is the largest number of neighbours that a message names. The neighbours of an object are the
// other objects of its kind in its namespace.
const maxNamedNeighbours = 3

var operatorGroup = schema.GroupKind{Group: operatorsv1.GroupVersion.Group, Kind: operatorsv1.OperatorGroupKind}

// mayDisturb reports whether the creation of an object of this kind could break the operators of other owners in its
// namespace.
func mayDisturb(it *item) bool {
	return it.groupKind() == operatorGroup || it.groupKind() == upgrade.Subscription
}

// neighbours finds the neighbours of objects that the pass is about to create.
type neighbours struct {
	conn    *member.Conn
	desired *plan.Desired
	trouble *memberapi.Troubles
}

// disturbs reports whether the creation of an absent object would break the operators of other owners in its
// namespace. If so, it adds trouble, and the pass must not create the object. There are two such cases:
//
//   - OLM installs and upgrades nothing in a namespace with two OperatorGroups.
//   - One Subscription with installPlanApproval Manual makes all InstallPlans of its namespace wait for approval. The
//     author can allow this case by spec.upgrade.sharedNamespace.
//
// If the Delivery shows that an earlier pass had created the object, the pass creates it again without this check.
func (n *neighbours) disturbs(ctx context.Context, it *item) (bool, error) {
	if !mayDisturb(it) || it.wasThere {
		return false, nil
	}
	if it.groupKind() == upgrade.Subscription {
		if n.desired.SharesNamespace {
			return false, nil
		}
		if obj, err := it.object.Unstructured(); err != nil || upgrade.TargetOf(obj) == "" {
			return false, err
		}
	}
	others, err := n.list(ctx, it)
	if err != nil {
		return n.unread(it, err)
	}
	if len(others) == 0 {
		return false, nil
	}
	names := messages.Few(others, maxNamedNeighbours)
	if it.groupKind() == operatorGroup {
		n.trouble.Add(memberapi.Stalled(v1alpha1.ReasonOperatorGroupExists,
			"%s: namespace %s has OperatorGroup %s already, and OLM installs nothing in a namespace with two; take yours out of the wrapper, or use another namespace",
			it, it.object.Namespace, names))
		return true, nil
	}
	n.trouble.Add(memberapi.Stalled(v1alpha1.ReasonNamespaceShared,
		"%s: namespace %s has Subscription %s of another owner, and your Manual Subscription would make all upgrades there wait for approval; use another "+
			"namespace, or set spec.upgrade.sharedNamespace: Allow", it, it.object.Namespace, names))
	return true, nil
}

// list returns the names of the item's neighbours that belong to other owners. It leaves out objects of this
// wrapper, objects of an earlier wrapper of the same name, and Subscriptions that OLM created for a dependency.
func (n *neighbours) list(ctx context.Context, it *item) (names []string, err error) {
	path := member.Path(it.mapping.Resource, it.object.Namespace, "")
	w := &n.desired.Wrapper
	wrapper := marks.WrapperPath(w.Kind, w.Namespace, w.Name)
	err = member.EachMetadata(ctx, n.conn, path, func(other *metav1.PartialObjectMetadata) error {
		if other.Name != it.object.Name && !upgrade.IsGenerated(other) && (other.Labels[v1alpha1.LabelUID] == "" || other.Annotations[v1alpha1.AnnotationWrapper] != wrapper) {
			names = append(names, other.Name)
		}
		return nil
	})
	return names, err
}

// unread turns the API server's refusal to list the neighbours into trouble. If err concerns the whole member instead,
// it returns an error.
func (n *neighbours) unread(it *item, err error) (refused bool, _ error) {
	switch {
	case apierrors.IsNotFound(err):
		return false, nil // the member no longer serves the kind; the apply reports that
	case memberapi.AnsweredAbout(it.entry.Group, err):
		n.trouble.Add(memberapi.ExplainWithout("list", "listing the objects of the same kind as", it.String(), err))
		return true, nil
	}
	return true, fmt.Errorf("listing the objects of the same kind as %s on member %s: %w", it, n.conn.Name(), err)
}
