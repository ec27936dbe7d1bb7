// SPDX-License-Identifier: Apache-2.0

package reinstall

import (
	"context"
	"fmt"

	operators "github.com/operator-framework/api/pkg/operators/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/marks"
	"github.com/fairlead-dev/fairlead/federate/render"
	"github.com/fairlead-dev/fairlead/federate/upgrade"
	"github.com/fairlead-dev/fairlead/internal/member"
	"github.com/fairlead-dev/fairlead/internal/push/memberapi"
)

// Subscription is one Subscription of the desired state.
type Subscription struct {
	// Target is the target of spec.upgrade; "" if it names none.
	Target string
	// Spec has the fields that decide what OLM installs.
	Spec   *operators.SubscriptionSpec
	object *render.Object
}

// SubscriptionsOf returns all Subscriptions in a rendering, by their names.
func SubscriptionsOf(rendering *render.Rendering) (map[string]Subscription, error) {
	all := make(map[string]Subscription)
	err := rendering.EachSubscription(func(object *render.Object, obj *unstructured.Unstructured) {
		text := func(field string) string {
			value, _, _ := unstructured.NestedString(obj.Object, "spec", field) // a field of another type is refused by the API server
			return value
		}
		all[object.Name] = Subscription{Target: upgrade.TargetOf(obj), object: object, Spec: &operators.SubscriptionSpec{
			Package: text("name"), Channel: text("channel"), CatalogSource: text("source"), CatalogSourceNamespace: text("sourceNamespace"),
			StartingCSV: text("startingCSV"), InstallPlanApproval: operators.Approval(text("installPlanApproval")),
		}}
	})
	return all, err
}

// tryCreate makes a dry run of the creation that follows the removal. kept is why the API server would refuse it. While the Subscription
// is there, the answer to a creation that is allowed is that it exists: policies and webhooks come before that.
func (a *Attempt) tryCreate(ctx context.Context, name string) (kept string, err error) {
	object := a.Subscriptions[name].object
	obj, err := object.Unstructured()
	if err != nil {
		return "", err
	}
	w := &a.Desired.Wrapper
	marks.Stamp(obj, marks.Marks{UID: w.UID, Wrapper: marks.WrapperPath(w.Kind, w.Namespace, w.Name), Rendering: object.Digest,
		Object: marks.ObjectPath(memberapi.Subscriptions.Resource, operators.GroupName, object.Namespace, object.Name)})
	body, err := obj.MarshalJSON()
	if err != nil {
		return "", fmt.Errorf("encoding %s: %w", object, err)
	}
	gvr := memberapi.Subscriptions
	gvr.Version = object.GVK.Version
	_, err = member.Do(ctx, a.Conn.REST().Post().AbsPath(member.Path(gvr, object.Namespace, "")...).
		Param("fieldManager", v1alpha1.FieldManager).Param("dryRun", metav1.DryRunAll).Body(body), true)
	switch {
	case err == nil, apierrors.IsAlreadyExists(err):
		return "", nil
	case memberapi.AnsweredAbout(operators.GroupName, err):
		return memberapi.ExplainWithout("get, list, create, patch", "creating again", object.String(), err).Message, nil
	}
	return "", fmt.Errorf("trying to create %s on member %s: %w", object, a.Conn.Name(), err)
}
