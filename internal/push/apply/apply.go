// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/keymutex"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/member"
	"github.com/fairlead-dev/fairlead/internal/push/memberapi"
	"github.com/fairlead-dev/fairlead/internal/push/namespaces"
	"github.com/fairlead-dev/fairlead/internal/push/plan"
	"github.com/fairlead-dev/fairlead/internal/push/prune"
)

// looksAgain bounds two kinds of repetition within one pass. The pass looks at most this often at one object that other
// clients keep changing. It repeats a write of the Delivery at most this often after a conflict.
const looksAgain = 3

// applier applies the desired objects of one pass.
type applier struct {
	objects    *objects
	look       *looker
	adoption   *adoption
	replicas   *replicas
	neighbours *neighbours
	refusals   *refusals
	namespaces *namespaces.Namespaces
	// names locks object names, so that two passes that run at the same time do not create the same object. It is nil if
	// passes never run at the same time.
	names keymutex.KeyMutex
	// native knows for which kinds the pass may try to create an object without reading it first (create.go).
	native *memberapi.NativeKinds
	// note writes the present entries to the Delivery, before a step that must not be made without that record.
	note func(context.Context) error
	// trouble collects the problems with single objects; the pass goes on with the other objects.
	trouble *memberapi.Troubles
}

// apply applies every object that is due, in install order. If the API server refuses an object, apply goes on with the
// next one.
func (a *applier) apply(ctx context.Context, items []*item) error {
	for _, it := range items {
		if !it.due || it.refused {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := a.applyItem(ctx, it); err != nil {
			return err
		}
		a.objects.applied(it)
	}
	return nil
}

// applyItem applies one object in one of three ways. If the Delivery records the object as applied, applyItem applies
// exactly the object with the recorded uid. If no Delivery listed the object, applyItem sends an apply that can only
// create it. In every other case the pass first reads the object to find out whose it is. The pass also reads the
// object if none with the recorded uid exists, or if the create-only apply did not create it.
func (a *applier) applyItem(ctx context.Context, it *item) error {
	if it.recorded {
		if it.isNamespace() {
			if closed, err := a.look.closesNamespace(ctx, it); closed || err != nil {
				return err
			}
		}
		again, err := a.applyOver(ctx, it, it.entry.UID, "")
		if err != nil || !again {
			return err
		}
		// No object with the recorded uid exists. Another object may have the name now.
		it.recorded, it.entry.State = false, v1alpha1.EntryPending
	}
	if a.names != nil {
		// Two passes, each for another wrapper, may both find that a name is free. Without this lock both would apply their
		// object, and each wrapper would take the resulting object for its own.
		name := it.mark()
		if mayDisturb(it) {
			// One lock for the whole namespace: if two passes create an OperatorGroup there at the same time, the second pass has
			// to find the OperatorGroup of the first pass.
			name = "neighbours in " + it.object.Namespace
		}
		a.names.LockKey(name)
		defer func() { _ = a.names.UnlockKey(name) }() // UnlockKey fails only for a key that is not locked
	}
	refusal, err := a.applyUnlisted(ctx, it)
	if err != nil || !it.due {
		return err
	}
	for range looksAgain {
		again, err := a.applyLooked(ctx, it, refusal)
		if err != nil || !again {
			return err
		}
		refusal = nil
	}
	a.trouble.Add(memberapi.Trouble{State: v1alpha1.StateDegraded, Reason: v1alpha1.ReasonPushError, Retry: plan.RetrySoon,
		Message: fmt.Sprintf("other clients changed or replaced %s %d times while the manager applied it; the manager tries again soon", it, looksAgain)})
	return nil
}

// isAnother reports whether the API server refused an apply because of the uid or the resourceVersion in the request:
// no object on the member has both. The API server answers 409 if no object has the name, or if the resourceVersion
// differs. It answers 422 on metadata.uid if an object with another uid has the name.
func isAnother(err error) bool {
	if apierrors.IsConflict(err) {
		return true
	}
	status, ok := err.(apierrors.APIStatus)
	if !apierrors.IsInvalid(err) || !ok || status.Status().Details == nil {
		return false
	}
	for _, cause := range status.Status().Details.Causes {
		if cause.Field == "metadata.uid" {
			return true
		}
	}
	return false
}

// applyLooked reads the object to find out whose it is, and then creates, applies, adopts or leaves it. again reports
// that another client changed the object meanwhile, so the caller has to call applyLooked again. refusal is the API
// server's refusal of the create-only apply that applyItem sent before; nil if there was none.
func (a *applier) applyLooked(ctx context.Context, it *item, refusal error) (again bool, err error) {
	whose, found, err := a.look.look(ctx, it)
	if err != nil {
		return false, err
	}
	switch whose {
	case absent:
		if isAboutObject(refusal) {
			return false, a.refusals.refused(ctx, it, "", refusal)
		}
		if disturbs, err := a.neighbours.disturbs(ctx, it); disturbs || err != nil {
			it.refused = true
			return false, err
		}
		return a.make(ctx, it)
	case ours:
		return a.applyOver(ctx, it, found.UID, "")
	case adoptable:
		return a.adopt(ctx, it, found)
	case taken:
		it.refused = true
		if found != nil && found.UID == it.entry.UID {
			return false, a.adoption.disclaim(ctx, it, found)
		}
	case dying, closed:
	}
	return false, nil
}

// applyOver applies with force, but only to the object with this uid. If resourceVersion is not "", the object must
// also have this resourceVersion. again reports that the object on the member is another one, or has changed, so the
// caller has to read it again.
func (a *applier) applyOver(ctx context.Context, it *item, uid types.UID, resourceVersion string) (again bool, err error) {
	if err := a.replicas.handOver(ctx, it, uid); err != nil {
		return false, err
	}
	marked, err := a.objects.applyExactly(ctx, it, uid, resourceVersion)
	switch {
	case err == nil && !marked && it.entry.Adopted == v1alpha1.AdoptedYes:
		return false, a.adoption.markAgain(ctx, it)
	case err == nil:
		return false, nil
	case isAnother(err):
		return true, nil
	}
	return false, a.refusals.refused(ctx, it, uid, err)
}

// refusals acts on the API server's refusals of the applies of one pass.
type refusals struct {
	conn   *member.Conn
	pruner *prune.Pruner
	// trouble collects the problems with single objects; the pass goes on with the other objects.
	trouble *memberapi.Troubles
	// rejected is the number of objects whose apply the API server refused, by reason.
	rejected map[string]int
}

// refused turns the API server's refusal of one object into trouble. If err concerns the whole member instead, it
// returns an error. uid is the uid of the object; "" if it is not known. If the refusal is about an immutable field, an
// annotation of the author may allow the manager to replace the object. refused then deletes the object, and the next
// pass creates it again.
func (r *refusals) refused(ctx context.Context, it *item, uid types.UID, err error) error {
	if !memberapi.AnsweredAbout(it.entry.Group, err) {
		return fmt.Errorf("applying %s to member %s: %w", it, r.conn.Name(), err)
	}
	t := memberapi.Explain("applying", it.String(), err)
	if apierrors.IsNotFound(err) && !memberapi.IsPolicy(err.Error()) { // the author of a webhook may choose 404, too
		t = r.unserved(it, err)
	}
	if t.Reason == v1alpha1.ReasonImmutableField && it.object.Replace && uid != "" && prune.MayReplace(it.groupKind()) {
		return r.replace(ctx, it, uid)
	}
	r.reject(t)
	return nil
}

// unserved explains a 404 to an apply. The member lacks a built-in kind, or the kind's CRD was deleted after the step resolve, or the
// object's namespace is gone.
func (r *refusals) unserved(it *item, err error) memberapi.Trouble {
	if !memberapi.IsPathGone(err) {
		return memberapi.Waiting(plan.RetrySoon, v1alpha1.ReasonAPINotServed, "%s: its namespace has gone from the member; the manager tries again", it)
	}
	r.conn.DoubtMapping(it.groupKind())
	return memberapi.Waiting(plan.RetrySoon, v1alpha1.ReasonAPINotServed,
		"%s: the member does not serve %s in %s; the manager looks the kind up again", it, it.entry.Kind, it.object.GVK.GroupVersion())
}

// reject adds the trouble of an object whose apply the API server refused, and counts it.
func (r *refusals) reject(t memberapi.Trouble) {
	if r.rejected == nil {
		r.rejected = make(map[string]int)
	}
	r.rejected[t.Reason]++
	r.trouble.Add(t)
}

// replace deletes an object, because an annotation of the author allows the manager to delete and recreate it. The next
// pass creates it again.
func (r *refusals) replace(ctx context.Context, it *item, uid types.UID) error {
	if spared, err := r.pruner.SpareReplaced(ctx, it.String(), uid); spared || err != nil {
		return err
	}
	err := memberapi.DeleteExactly(ctx, r.conn, it.path(), metav1.Preconditions{UID: &uid})
	switch {
	case err == nil, apierrors.IsNotFound(err), apierrors.IsConflict(err):
		it.entry.State = v1alpha1.EntryPending
		r.trouble.Add(memberapi.Waiting(plan.RetrySoon, v1alpha1.ReasonRemovalWaits,
			"%s is being deleted, and the manager then creates it again: its annotation %s asks for that", it, v1alpha1.AnnotationReplace))
		return nil
	case memberapi.AnsweredAbout(it.entry.Group, err):
		r.trouble.Add(memberapi.Explain("replacing", it.String(), err))
		return nil
	}
	return fmt.Errorf("replacing %s on member %s: %w", it, r.conn.Name(), err)
}
