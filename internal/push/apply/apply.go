// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/keymutex"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/member"
	"github.com/fairlead-dev/fairlead/internal/push/memberapi"
	"github.com/fairlead-dev/fairlead/internal/push/plan"
	"github.com/fairlead-dev/fairlead/internal/push/prune"
)

// looksAgain bounds how often one pass looks at one object again because another client changed or replaced it.
const looksAgain = 3

// applier applies the objects of one pass on the member.
type applier struct {
	conn       *member.Conn
	desired    *plan.Desired
	objects    *objects
	namespaces *namespaces
	look       *looker
	pruner     *prune.Pruner
	// names locks object names, so that two passes on one member do not create an object of the same name at once;
	// nil if only one pass runs.
	names keymutex.KeyMutex
	// native tells which objects may be applied without a look.
	native *NativeKinds
	// note writes to the Delivery what must be recorded before the next step.
	note func(context.Context) error
	// trouble collects the problems with single objects; the others go on.
	trouble *memberapi.Troubles
}

// apply writes every object that is due, in install order. A refused object does not stop the others.
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
		a.applied(it)
	}
	return nil
}

// applied ends the apply of one object. After a CustomResourceDefinition it drops the cached mappings: the member may now
// serve other kinds.
func (a *applier) applied(it *item) {
	if it.entry.Kind == "CustomResourceDefinition" && it.entry.State == v1alpha1.EntryApplied {
		a.conn.ForgetMappings()
	}
}

// applyItem applies one object: a recorded object by its uid, an unlisted object only if the name is free, and any other
// object after a look.
func (a *applier) applyItem(ctx context.Context, it *item) error {
	if it.recorded {
		if it.isNamespace() {
			if closed, err := a.closesNamespace(ctx, it); closed || err != nil {
				return err
			}
		}
		again, err := a.applyOver(ctx, it, it.entry.UID, "")
		if err != nil || !again {
			return err
		}
		// The recorded object is gone, or another object has its name.
		it.recorded, it.entry.State = false, v1alpha1.EntryPending
	}
	if a.names != nil {
		// Two wrappers may both find a name free. Without this lock both would take the object of the first one for
		// their own.
		name := it.mark()
		if mayDisturb(it) {
			name = "neighbours in " + it.object.Namespace // of two neighbours the second has to see the first
		}
		a.names.LockKey(name)
		defer func() { _ = a.names.UnlockKey(name) }() // it is held
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
		Message: fmt.Sprintf("other clients changed or replaced %s %d times while the manager applied it; it tries again soon", it, looksAgain)})
	return nil
}

// isAnother recognises the API server's answers to an apply with a uid: 409 when no such object exists, 422 on
// metadata.uid when another object has the name.
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

// applyLooked finds out to whom the object belongs, and acts on it. again reports that another client was faster.
// refusal is the answer to a create-only apply before the look; nil when there was none.
func (a *applier) applyLooked(ctx context.Context, it *item, refusal error) (again bool, err error) {
	whose, found, err := a.look.look(ctx, it)
	if err != nil {
		return false, err
	}
	switch whose {
	case absent:
		if isAboutObject(refusal) {
			return false, a.refusedApply(ctx, it, "", refusal)
		}
		if disturbs, err := a.disturbsNeighbours(ctx, it); disturbs || err != nil {
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
			return false, a.disclaim(ctx, it, found)
		}
	case dying, closed:
	}
	return false, nil
}

// make applies an object that was absent, without force. 201 means that Fairlead made it. 200 means that another
// client was faster and the API server merged the apply into its object; settle then takes that back.
func (a *applier) make(ctx context.Context, it *item) (again bool, err error) {
	if it.entry.UID != "" {
		// The recorded object is gone. The Delivery has to say so before another object is made. Otherwise the new
		// object would not be the recorded one, and Fairlead would never remove it.
		it.entry.UID, it.entry.Fields, it.entry.Adopted = "", "", ""
		if err := a.note(ctx); err != nil {
			return false, err
		}
	}
	if it.isNamespace() {
		return a.makeNamespace(ctx, it)
	}
	body, err := a.objects.stamped(it, "", "")
	if err != nil {
		return false, err
	}
	answer, err := member.Do(ctx, a.objects.request(it, body, false), true)
	if apierrors.IsConflict(err) {
		return true, nil
	}
	if err != nil {
		return false, a.refusedApply(ctx, it, "", err)
	}
	return a.settle(ctx, it, answer)
}

// settle acts on the answer to an apply without force. again reports that the apply was merged into another client's
// object.
func (a *applier) settle(ctx context.Context, it *item, answer member.Answer) (again bool, err error) {
	if answer.Status == http.StatusCreated {
		return false, it.record(answer)
	}
	merged := &metav1.PartialObjectMetadata{}
	if err := answer.Into(merged); err != nil {
		return false, err
	}
	if onlyOurs(merged) {
		// A late request of this host: of a manager that died or lost its lease.
		return false, it.record(answer)
	}
	if err := a.takeBack(ctx, it, merged); err != nil {
		return false, fmt.Errorf("giving %s on member %s back: %w", it, a.conn.Name(), err)
	}
	return true, nil
}

// applyOver applies by force to exactly the object with the given uid. again reports that it is gone or replaced, so
// that another look is needed.
func (a *applier) applyOver(ctx context.Context, it *item, uid types.UID, resourceVersion string) (again bool, err error) {
	if err := a.handOverReplicas(ctx, it, uid); err != nil {
		return false, err
	}
	marked, err := a.applyExactly(ctx, it, uid, resourceVersion)
	switch {
	case err == nil && !marked && it.entry.Adopted == v1alpha1.AdoptedYes:
		return false, a.markAgain(ctx, it)
	case err == nil:
		return false, nil
	case isAnother(err):
		return true, nil
	}
	return false, a.refusedApply(ctx, it, uid, err)
}

// applyExactly sends one apply by force, to exactly the object with the given uid. marked reports whether the object has
// AnnotationAdopted.
func (a *applier) applyExactly(ctx context.Context, it *item, uid types.UID, resourceVersion string) (marked bool, err error) {
	body, err := a.objects.stamped(it, uid, resourceVersion)
	if err != nil {
		return false, err
	}
	answer, err := member.Do(ctx, a.objects.request(it, body, true), true)
	if err != nil {
		return false, err
	}
	return it.recordOver(answer)
}

// refusedApply turns a refusal into trouble of this object, and returns errors that concern the whole member.
func (a *applier) refusedApply(ctx context.Context, it *item, uid types.UID, err error) error {
	if !memberapi.AnsweredAbout(it.entry.Group, err) {
		return fmt.Errorf("applying %s to member %s: %w", it, a.conn.Name(), err)
	}
	if apierrors.IsNotFound(err) {
		// The kind itself is gone: its CRD was deleted since it was mapped.
		if memberapi.IsPathGone(err) {
			a.conn.DoubtMapping(it.groupKind())
		}
		a.trouble.Add(memberapi.Waiting(plan.RetrySoon, v1alpha1.ReasonAPINotServed,
			"%s: the member does not serve %s any more, or its namespace is gone", it, it.entry.Kind))
		return nil
	}
	t := memberapi.Explain("applying", it.String(), err)
	if t.Reason == v1alpha1.ReasonImmutableField && it.object.Replace && uid != "" && prune.MayReplace(it.groupKind()) {
		return a.replace(ctx, it, uid)
	}
	a.trouble.Add(t)
	return nil
}

// replace deletes an object whose author allows the manager to make it again. The next pass makes it.
func (a *applier) replace(ctx context.Context, it *item, uid types.UID) error {
	if spared, err := a.pruner.SpareReplaced(ctx, it.String(), uid); spared || err != nil {
		return err
	}
	err := memberapi.DeleteExactly(ctx, a.conn, it.path(), metav1.Preconditions{UID: &uid})
	switch {
	case err == nil, apierrors.IsNotFound(err), apierrors.IsConflict(err):
		it.entry.State = v1alpha1.EntryPending
		a.trouble.Add(memberapi.Waiting(plan.RetrySoon, v1alpha1.ReasonRemovalWaits,
			"%s is being deleted to be made again, as its annotation %s asks", it, v1alpha1.AnnotationReplace))
		return nil
	case memberapi.AnsweredAbout(it.entry.Group, err):
		a.trouble.Add(memberapi.Explain("replacing", it.String(), err))
		return nil
	}
	return fmt.Errorf("replacing %s on member %s: %w", it, a.conn.Name(), err)
}
