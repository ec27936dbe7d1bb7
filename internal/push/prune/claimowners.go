// SPDX-License-Identifier: Apache-2.0

package prune

import (
	"context"
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/health"
	"github.com/fairlead-dev/fairlead/internal/member"
	"github.com/fairlead-dev/fairlead/internal/push/memberapi"
	"github.com/fairlead-dev/fairlead/internal/push/plan"
)

// retainManager is the field manager of the patch that sets whenDeleted: Retain in a StatefulSet that is to be removed.
// A later pass recognises by this field manager that an earlier pass sent the patch.
const retainManager = v1alpha1.FieldManager + "-retain"

var statefulSets = schema.GroupKind{Group: "apps", Kind: "StatefulSet"}

// keepsData reports whether the policy keeps objects that hold data: it is KeepData, or absent.
func keepsData(policy v1alpha1.DeletionPolicy) bool {
	return policy != v1alpha1.DeleteAll && policy != v1alpha1.KeepAll
}

// claimRetention decides which objects have to stay so that no claim is deleted with them.
type claimRetention struct {
	conn *member.Conn
	// policy is the wrapper's onDelete.
	policy v1alpha1.DeletionPolicy
	// owners finds the objects whose deletion would delete a claim.
	owners *claimOwners
	// trouble collects the problems with single objects.
	trouble *memberapi.Troubles
}

// spare finds out, under KeepData, whether deleting an object could delete data too. settled is true if this pass must not delete
// the object. The result why then distinguishes two cases. If it is not "", the pass has to keep the object for this reason. If it
// is "", either the object is gone, or the removal has to wait and spare has added trouble with the reason.
func (c *claimRetention) spare(ctx context.Context, r *Removal, path []string, found *metav1.PartialObjectMetadata) (why string, settled bool, err error) {
	if !keepsData(c.policy) || found.Annotations[v1alpha1.AnnotationKeep] == "false" {
		return "", false, nil
	}
	if !memberapi.IsBuiltIn(r.GroupKind()) && len(found.Finalizers) > 0 {
		return "its controller has set finalizer " + health.Clean(found.Finalizers[0], 64) +
			" and may delete data with it; annotation " + v1alpha1.AnnotationKeep + `: "false" on it allows the removal`, true, nil
	}
	retained := false
	if r.GroupKind() == statefulSets {
		if retained, settled, err = c.retain(ctx, r, path, found); settled || err != nil {
			return "", settled, err
		}
	}
	known, err := c.owners.lead(ctx)
	if err != nil {
		return "", false, err
	}
	claim, leads := known.claim[found.UID]
	switch {
	case leads && retained:
		c.trouble.Add(memberapi.Waiting(plan.RetrySoon, v1alpha1.ReasonRemovalWaits,
			"the manager does not delete %s on member %s yet: %s names it as owner and would be deleted with it. "+
				"The StatefulSet controller should remove that ownerReference now. If it does not, remove it by hand",
			r, c.conn.Name(), memberapi.Ref("PersistentVolumeClaim", health.Clean(claim, 64))))
	case leads:
		return memberapi.Ref("PersistentVolumeClaim", health.Clean(claim, 64)) + " would be deleted with it, because the ownerReferences of the claim lead to it", true, nil
	case known.cause != nil:
		c.trouble.Add(known.cannotKnow("removing", r.String()))
	default:
		return "", false, nil
	}
	return "", true, nil
}

// spareReplaced reports whether the manager must not delete and recreate an object, because claims would be deleted
// with the object. If so, it adds trouble.
func (c *claimRetention) spareReplaced(ctx context.Context, object string, uid types.UID) (bool, error) {
	if !keepsData(c.policy) {
		return false, nil
	}
	known, err := c.owners.lead(ctx)
	if err != nil {
		return false, err
	}
	claim, leads := known.claim[uid]
	switch {
	case leads:
		c.trouble.Add(memberapi.Stalled(v1alpha1.ReasonImmutableField,
			"%s is not replaced: the garbage collector would then delete %s, which names it as its owner; undo the change, use another name, "+
				"or first remove that ownerReference (StatefulSet: whenDeleted: Retain)",
			object, memberapi.Ref("PersistentVolumeClaim", health.Clean(claim, 64))))
	case known.cause != nil:
		c.trouble.Add(known.cannotKnow("replacing", object))
	default:
		return false, nil
	}
	return true, nil
}

// retain sets whenDeleted: Retain in a StatefulSet, so that its claims stay when it is deleted. retained is true if
// this pass or an earlier one has set it. settled is true if this pass must not delete the StatefulSet: the StatefulSet
// controller has not observed Retain yet, or a request was refused, or the StatefulSet is gone.
//
// The pass has to wait for the controller, because the controller adds the StatefulSet to the ownerReferences of the
// claims, and removes that ownerReference only when it observes Retain.
func (c *claimRetention) retain(ctx context.Context, r *Removal, path []string, found *metav1.PartialObjectMetadata) (retained, settled bool, err error) {
	answer, err := member.Do(ctx, c.conn.REST().Get().AbsPath(path...), false)
	var set struct { // not appsv1.StatefulSet, because its template has quantities
		Metadata struct{ Generation int64 }
		Spec     struct {
			PersistentVolumeClaimRetentionPolicy *appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy
		}
		Status struct{ ObservedGeneration int64 }
	}
	if err == nil {
		if err := answer.IntoFields("StatefulSet", &set); err != nil {
			return false, false, fmt.Errorf("reading %s on member %s: %w", r, c.conn.Name(), err)
		}
		policy := set.Spec.PersistentVolumeClaimRetentionPolicy
		if policy == nil || policy.WhenDeleted != appsv1.DeletePersistentVolumeClaimRetentionPolicyType {
			retained = hasManager(found, retainManager)
			settled = retained && set.Status.ObservedGeneration < set.Metadata.Generation
		} else {
			retained, settled = true, true
			err = c.tellToRetain(ctx, path, found.UID)
		}
	}
	switch {
	case memberapi.IsAbsent(err):
		r.Gone = true
		return false, true, nil
	case err != nil && memberapi.Answered(err):
		c.trouble.Add(memberapi.Explain("keeping the claims of", r.String(), err))
		return false, true, nil
	case err != nil:
		return false, false, fmt.Errorf("keeping the claims of %s on member %s: %w", r, c.conn.Name(), err)
	case settled:
		c.trouble.Add(memberapi.Waiting(plan.RetrySoon, v1alpha1.ReasonRemovalWaits,
			"the manager has set whenDeleted: Retain in %s, so that its claims stay. It deletes the StatefulSet when the StatefulSet controller has observed that", r))
	}
	return retained, settled, nil
}

func (c *claimRetention) tellToRetain(ctx context.Context, path []string, uid types.UID) error {
	body, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": uid}, // the API server refuses the patch if the StatefulSet on the member has another uid
		"spec": map[string]any{"persistentVolumeClaimRetentionPolicy": map[string]any{
			"whenDeleted": appsv1.RetainPersistentVolumeClaimRetentionPolicyType}},
	})
	if err != nil {
		return fmt.Errorf("encoding the retention policy of a StatefulSet: %w", err)
	}
	_, err = member.Do(ctx, c.conn.REST().Patch(types.MergePatchType).AbsPath(path...).
		Param("fieldManager", retainManager).Body(body), true)
	return err
}

func hasManager(found *metav1.PartialObjectMetadata, name string) bool {
	for i := range found.ManagedFields {
		if found.ManagedFields[i].Manager == name {
			return true
		}
	}
	return false
}
