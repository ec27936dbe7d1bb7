// SPDX-License-Identifier: Apache-2.0

package installplan

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	operators "github.com/operator-framework/api/pkg/operators/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/render"
	"github.com/fairlead-dev/fairlead/federate/upgrade"
	"github.com/fairlead-dev/fairlead/internal/member"
	"github.com/fairlead-dev/fairlead/internal/push/memberapi"
)

// maxSubscriptions is how many Subscriptions of one namespace the manager reads.
const maxSubscriptions = 500

var (
	subscriptionsGVR = schema.GroupVersionResource{Group: operators.GroupName, Version: operators.GroupVersion, Resource: "subscriptions"}
	csvsGVR          = schema.GroupVersionResource{Group: operators.GroupName, Version: operators.GroupVersion, Resource: "clusterserviceversions"}
	installPlansGVR  = schema.GroupVersionResource{Group: operators.GroupName, Version: operators.GroupVersion, Resource: "installplans"}
)

// Targets are the targets of the Subscriptions of a rendering, by namespace and name.
type Targets map[string]map[string]string

// TargetsOf returns the targets in a rendering. It is empty for a wrapper without spec.upgrade.
func TargetsOf(rendering *render.Rendering) (Targets, error) {
	targets := make(Targets)
	for i := range rendering.Objects {
		o := &rendering.Objects[i]
		if o.GVK.Group != operators.GroupName || o.GVK.Kind != operators.SubscriptionKind {
			continue
		}
		obj, err := o.Unstructured()
		if err != nil {
			return nil, err
		}
		target := obj.GetAnnotations()[v1alpha1.AnnotationTargetCSV]
		if target == "" {
			continue
		}
		if targets[o.Namespace] == nil {
			targets[o.Namespace] = make(map[string]string)
		}
		targets[o.Namespace][o.Name] = target
	}
	return targets, nil
}

// Approve approves the pending InstallPlans of a wrapper's Subscriptions on a member, if it may. trouble tells why it does not
// approve one; nil when there is nothing to tell. An error concerns the member as a whole.
func Approve(ctx context.Context, conn *member.Conn, wrapper types.UID, targets Targets) (trouble *memberapi.Trouble, err error) {
	var all []memberapi.Trouble
	for _, namespace := range slices.Sorted(maps.Keys(targets)) { // in one order, so that the same trouble comes first each time
		found, err := approveIn(ctx, conn, wrapper, namespace, targets[namespace])
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	if len(all) == 0 {
		return nil, nil
	}
	worst := memberapi.Worst(all)
	return &worst, nil
}

// approveIn is Approve for one namespace.
func approveIn(ctx context.Context, conn *member.Conn, wrapper types.UID, namespace string, targets map[string]string) ([]memberapi.Trouble, error) {
	subscriptions, trouble, err := list(ctx, conn, namespace)
	if err != nil || trouble != nil {
		return trouble, err
	}
	var all []memberapi.Trouble
	plans, missing := make(map[string]bool), maps.Clone(targets)
	for i := range subscriptions {
		sub := &subscriptions[i]
		if ref := sub.Status.InstallPlanRef; ref != nil && ref.Name != "" {
			// A newer plan may have the CSVs of the wrapper too, while its Subscriptions still name the earlier plan.
			plans[ref.Name] = true
		}
		if target, ours := targets[sub.Name]; ours && sub.Labels[v1alpha1.LabelUID] == string(wrapper) && sub.Annotations[v1alpha1.AnnotationTargetCSV] == target {
			delete(missing, sub.Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		all = append(all, memberapi.Trouble{State: v1alpha1.StateDegraded, Reason: v1alpha1.ReasonDrifted, Message: "another client changed, replaced or deleted Subscription " +
			name + ": the manager approves no InstallPlan in its namespace"})
	}
	if len(all) > 0 {
		return all, nil
	}
	for _, name := range slices.Sorted(maps.Keys(plans)) {
		trouble, err := approveOne(ctx, conn, namespace, name, subscriptions, targets)
		if err != nil {
			return nil, err
		}
		if trouble != nil {
			all = append(all, *trouble)
		}
	}
	return all, nil
}

// approveOne reads one plan and approves it if it may.
func approveOne(ctx context.Context, conn *member.Conn, namespace, name string, subscriptions []operators.Subscription, targets map[string]string) (*memberapi.Trouble, error) {
	path := member.Path(installPlansGVR, namespace, name)
	answer, err := member.Do(ctx, conn.REST().Get().AbsPath(path...), false)
	if err != nil {
		return refused("reading", "InstallPlan "+name, conn, err)
	}
	plan := &operators.InstallPlan{}
	if err := answer.Into(plan); err != nil {
		return nil, fmt.Errorf("reading InstallPlan %s on member %s: %w", name, conn.Name(), err)
	}
	decision := upgrade.Decide(plan, subscriptions, targets)
	if !decision.Approve {
		if decision.Reason == "" {
			return nil, nil
		}
		return &memberapi.Trouble{State: decision.State, Reason: decision.Reason, Message: decision.Message}, nil
	}
	for _, csv := range decision.Installed {
		if succeeded, trouble, err := hasSucceeded(ctx, conn, namespace, csv); err != nil || trouble != nil || !succeeded {
			return trouble, err // the collector tells why the installed version has not succeeded
		}
	}
	body, err := json.Marshal([]memberapi.Operation{
		{Op: "test", Path: "/metadata/uid", Value: plan.UID},
		// The plan is as it was read, so it still has the CSVs that the decision is about.
		{Op: "test", Path: "/metadata/resourceVersion", Value: plan.ResourceVersion},
		{Op: "replace", Path: "/spec/approved", Value: true},
	})
	if err != nil {
		return nil, fmt.Errorf("encoding the approval of %s: %w", name, err)
	}
	_, err = member.Do(ctx, conn.REST().Patch(types.JSONPatchType).AbsPath(path...).Param("fieldManager", v1alpha1.FieldManager).Body(body), true)
	if isChanged(err) {
		return nil, nil // the plan changed since it was read: the next report of the collector brings it up again
	}
	if err != nil {
		return refused("approving", "InstallPlan "+name, conn, err)
	}
	return nil, nil
}

// hasSucceeded reports whether OLM can replace a CSV: it runs, or it is gone. The collector's report may be from before the last step.
func hasSucceeded(ctx context.Context, conn *member.Conn, namespace, name string) (bool, *memberapi.Trouble, error) {
	answer, err := member.Do(ctx, conn.REST().Get().AbsPath(member.Path(csvsGVR, namespace, name)...), false)
	if apierrors.IsNotFound(err) {
		return true, nil, nil // there is no CSV to replace
	}
	if err != nil {
		trouble, err := refused("reading", "ClusterServiceVersion "+name, conn, err)
		return false, trouble, err
	}
	var csv struct {
		Status struct {
			Phase operators.ClusterServiceVersionPhase
		}
	}
	if err := answer.Into(&csv); err != nil {
		return false, nil, fmt.Errorf("reading ClusterServiceVersion %s on member %s: %w", name, conn.Name(), err)
	}
	return csv.Status.Phase == operators.CSVPhaseSucceeded, nil, nil
}

// isChanged recognises the answer to a JSON patch of which a test failed.
func isChanged(err error) bool { return apierrors.IsInvalid(err) || apierrors.IsConflict(err) }

// list reads all Subscriptions of a namespace.
func list(ctx context.Context, conn *member.Conn, namespace string) ([]operators.Subscription, []memberapi.Trouble, error) {
	request := conn.REST().Get().AbsPath(member.Path(subscriptionsGVR, namespace, "")...).Param("limit", strconv.Itoa(maxSubscriptions))
	answer, err := member.Do(ctx, request, false)
	if err != nil {
		trouble, err := refused("listing", "Subscriptions of namespace "+namespace, conn, err)
		if trouble == nil {
			return nil, nil, err
		}
		return nil, []memberapi.Trouble{*trouble}, err
	}
	found := &operators.SubscriptionList{}
	if err := answer.Into(found); err != nil {
		return nil, nil, fmt.Errorf("listing Subscriptions of namespace %s on member %s: %w", namespace, conn.Name(), err)
	}
	if found.Continue != "" {
		return nil, []memberapi.Trouble{memberapi.Stalled(v1alpha1.ReasonInstallPlanBundlesOthers,
			"namespace %s has more than %d Subscriptions, which is more than the manager reads; use another namespace", namespace, maxSubscriptions)}, nil
	}
	return found.Items, nil, nil
}

// refused turns a member's refusal into trouble, and returns errors that concern the whole member. What is gone is no trouble.
func refused(verb, object string, conn *member.Conn, err error) (*memberapi.Trouble, error) {
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case memberapi.AnsweredAbout(operators.GroupName, err):
		trouble := memberapi.ExplainWithout("get, list, patch", verb, object, err)
		return &trouble, nil
	}
	return nil, fmt.Errorf("%s %s on member %s: %w", verb, object, conn.Name(), err)
}
