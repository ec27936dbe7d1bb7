// SPDX-License-Identifier: Apache-2.0

package installplan

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	operators "github.com/operator-framework/api/pkg/operators/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/render"
	"github.com/fairlead-dev/fairlead/federate/upgrade"
	"github.com/fairlead-dev/fairlead/internal/member"
	"github.com/fairlead-dev/fairlead/internal/push/memberapi"
)

// Targets are the target CSVs of a wrapper's Subscriptions: by namespace, then by the name of the Subscription.
type Targets map[string]map[string]string

// TargetsOf returns the targets in a rendering. A wrapper without spec.upgrade has none, and the result is then empty.
func TargetsOf(rendering *render.Rendering) (Targets, error) {
	all, err := rendering.Targets()
	if err != nil {
		return nil, err
	}
	targets := make(Targets)
	for _, t := range all {
		if t.CSV == "" {
			continue
		}
		if targets[t.Namespace] == nil {
			targets[t.Namespace] = make(map[string]string)
		}
		targets[t.Namespace][t.Name] = t.CSV
	}
	return targets, nil
}

// Approve approves the pending InstallPlans of a wrapper's Subscriptions on a member, if package federate/upgrade
// allows it. wrapper is the wrapper's uid. trouble is the worst reason why it did not approve a plan; nil if there is
// none. An error concerns the member as a whole.
func Approve(ctx context.Context, conn *member.Conn, wrapper types.UID, targets Targets) (trouble *memberapi.Trouble, err error) {
	var all []memberapi.Trouble
	for _, namespace := range slices.Sorted(maps.Keys(targets)) { // sorted, so that the result does not depend on the order of the map
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

// approveIn does the work of the function Approve for one namespace. It returns every reason why it did not approve a
// plan.
func approveIn(ctx context.Context, conn *member.Conn, wrapper types.UID, namespace string, targets map[string]string) ([]memberapi.Trouble, error) {
	subscriptions, unread, err := list(ctx, conn, namespace)
	if err != nil {
		return nil, err
	}
	if unread != nil {
		return []memberapi.Trouble{*unread}, nil
	}
	var all []memberapi.Trouble
	plans, missing := make(map[string]bool), maps.Clone(targets)
	for i := range subscriptions {
		sub := &subscriptions[i]
		if ref := sub.Status.InstallPlanRef; ref != nil && ref.Name != "" {
			// Read the plans of all Subscriptions of the namespace. OLM makes one plan for several Subscriptions, but may name it
			// in only some of them. So the plan that upgrades the wrapper's CSVs may be named only by a Subscription of another
			// owner, while the wrapper's Subscriptions still name an earlier plan.
			plans[ref.Name] = true
		}
		if target, ours := targets[sub.Name]; ours && sub.Labels[v1alpha1.LabelUID] == string(wrapper) && upgrade.TargetOf(sub) == target {
			delete(missing, sub.Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		all = append(all, memberapi.Trouble{State: v1alpha1.StateDegraded, Reason: v1alpha1.ReasonDrifted, Message: "another client changed, replaced or deleted Subscription " +
			name + ": the manager approves no InstallPlan in its namespace until the Subscription is as the wrapper says"})
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

// approveOne reads one InstallPlan, and approves it if package federate/upgrade allows that.
func approveOne(ctx context.Context, conn *member.Conn, namespace, name string, subscriptions []operators.Subscription, targets map[string]string) (*memberapi.Trouble, error) {
	path := member.Path(memberapi.InstallPlans, namespace, name)
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
			return trouble, err // if the installed version has not succeeded, there is no trouble: the collector reports the reason
		}
	}
	body, err := json.Marshal([]memberapi.Operation{
		{Op: "test", Path: "/metadata/uid", Value: plan.UID},
		// The API server refuses the approval if the plan has changed since upgrade.Decide read its CSVs.
		{Op: "test", Path: "/metadata/resourceVersion", Value: plan.ResourceVersion},
		{Op: "replace", Path: "/spec/approved", Value: true},
	})
	if err != nil {
		return nil, fmt.Errorf("encoding the approval of InstallPlan %s: %w", name, err)
	}
	_, err = member.Do(ctx, conn.REST().Patch(types.JSONPatchType).AbsPath(path...).Param("fieldManager", v1alpha1.FieldManager).Body(body), true)
	if isChanged(err) {
		return nil, nil // the plan has changed since it was read: the manager tries again later
	}
	if err != nil {
		return refused("approving", "InstallPlan "+name, conn, err)
	}
	return nil, nil
}

// hasSucceeded reports whether OLM can replace a CSV: its phase is Succeeded, or it is gone. The manager reads the CSV
// itself, because the collector's report may be older than the last change of the phase.
func hasSucceeded(ctx context.Context, conn *member.Conn, namespace, name string) (bool, *memberapi.Trouble, error) {
	answer, err := member.Do(ctx, conn.REST().Get().AbsPath(member.Path(memberapi.ClusterServiceVersions, namespace, name)...), false)
	if apierrors.IsNotFound(err) {
		return true, nil, nil // OLM has no CSV to replace
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

// isChanged reports whether the API server refused the approval because the plan has changed: a test of the JSON patch
// failed, or there was a conflict.
func isChanged(err error) bool { return apierrors.IsInvalid(err) || apierrors.IsConflict(err) }

// list reads all Subscriptions of a namespace. trouble is the reason why it could not read them; nil if it could.
func list(ctx context.Context, conn *member.Conn, namespace string) (found []operators.Subscription, trouble *memberapi.Trouble, err error) {
	found, complete, err := memberapi.ListSubscriptions(ctx, conn, namespace)
	if err != nil {
		trouble, err = refused("listing", "Subscriptions of namespace "+namespace, conn, err)
		return nil, trouble, err
	}
	if !complete {
		many := memberapi.Stalled(v1alpha1.ReasonInstallPlanBundlesOthers,
			"namespace %s has more than %d Subscriptions, so the manager cannot read all of them and approves no InstallPlan there; use another namespace",
			namespace, memberapi.MaxSubscriptions)
		return nil, &many, nil
	}
	return found, nil, nil
}

// refused turns the API server's refusal into trouble. If err concerns the whole member instead, it returns an error.
// If the object is gone, it returns neither.
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
