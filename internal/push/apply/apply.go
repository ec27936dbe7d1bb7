// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/keymutex"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/member"
	"github.com/fairlead-dev/fairlead/internal/push/memberapi"
	"github.com/fairlead-dev/fairlead/internal/push/plan"
	"github.com/fairlead-dev/fairlead/internal/push/prune"
)

// looksAgain bounds how often one object is looked at again in one pass because it changed hands
// meanwhile.
const looksAgain = 3

// applier brings the objects of one pass to the member.
type applier struct {
	conn       *member.Conn
	desired    *plan.Desired
	objects    *objects
	namespaces *namespaces
	look       *looker
	pruner     *prune.Pruner
	// names keeps passes of one member apart that are about to make an object of the same name; nil where
	// there is only one.
	names keymutex.KeyMutex
	// note writes into the Delivery what must stand there before the next step.
	note func(context.Context) error
	// trouble collects what is in the way of single objects; the others go on.
	trouble *memberapi.Troubles
}

// apply writes every object that is due, in install order. One that is refused does not keep the
// others from going on.
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
		if it.entry.Kind == "CustomResourceDefinition" && it.entry.State == v1alpha1.EntryApplied {
			a.conn.ForgetMappings()
		}
	}
	return nil
}

// applyItem brings one object there: what is recorded by its uid, all else after a look.
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
		// It is gone, or another one: not what was recorded any more.
		it.recorded, it.entry.State = false, v1alpha1.EntryPending
	}
	if a.names != nil {
		// Two wrappers that both find a name free would both take what the first of them makes for theirs.
		name := it.mark()
		a.names.LockKey(name)
		defer func() { _ = a.names.UnlockKey(name) }() // it is held
	}
	for range looksAgain {
		again, err := a.applyLooked(ctx, it)
		if err != nil || !again {
			return err
		}
	}
	a.trouble.Add(memberapi.Trouble{State: v1alpha1.StateDegraded, Reason: v1alpha1.ReasonPushError, Retry: plan.RetrySoon,
		Message: fmt.Sprintf("%s keeps changing hands while it is being applied", it)})
	return nil
}

// isAnother recognises what the API server answers to an apply with a uid: 409 when no such object is
// there, 422 on metadata.uid when it is another.
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

// applyLooked finds out whose the object is and does what follows. again reports that another client was faster.
func (a *applier) applyLooked(ctx context.Context, it *item) (again bool, err error) {
	whose, found, err := a.look.look(ctx, it)
	if err != nil {
		return false, err
	}
	switch whose {
	case absent:
		return a.make(ctx, it)
	case ours:
		return a.applyOver(ctx, it, found.UID, "")
	case adoptable:
		// Written down before our marks are on it: after them a look would take it for our own making.
		it.entry.Adopted, it.entry.UID = v1alpha1.AdoptedYes, found.UID
		if err := a.note(ctx); err != nil {
			return false, err
		}
		return a.applyOver(ctx, it, found.UID, found.ResourceVersion)
	case taken:
		it.refused = true
		if found != nil && found.UID == it.entry.UID {
			// It was to be adopted and is not to be any more: what the entry names it may remove.
			it.entry.UID, it.entry.Fields, it.entry.Adopted = "", "", ""
		}
	case dying, closed:
	}
	return false, nil
}

// make applies an object that was absent, without force. 201 means that we made it; 200 that somebody
// was faster and ours was merged into theirs, which is taken back.
func (a *applier) make(ctx context.Context, it *item) (again bool, err error) {
	if it.entry.UID != "" {
		// What was recorded is gone. To be written down before another is there, or that one would not be
		// the recorded one, and nobody's to remove.
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
	if answer.Status == http.StatusCreated {
		return false, it.record(answer)
	}
	merged := &metav1.PartialObjectMetadata{}
	if err := answer.Into(merged); err != nil {
		return false, err
	}
	if onlyOurs(merged) {
		// A request of our own that came late: of a pusher that died or was deposed.
		return false, it.record(answer)
	}
	if err := a.takeBack(ctx, it, merged); err != nil {
		return false, fmt.Errorf("giving %s on member %s back: %w", it, a.conn.Name(), err)
	}
	return true, nil
}

// applyOver applies by force to the very object that is meant; again says that it is gone or another
// one by now, and has to be looked at.
func (a *applier) applyOver(ctx context.Context, it *item, uid types.UID, resourceVersion string) (again bool, err error) {
	if err := a.handOverReplicas(ctx, it, uid); err != nil {
		return false, err
	}
	body, err := a.objects.stamped(it, uid, resourceVersion)
	if err != nil {
		return false, err
	}
	answer, err := member.Do(ctx, a.objects.request(it, body, true), true)
	if err == nil {
		return false, it.record(answer)
	}
	if isAnother(err) {
		return true, nil
	}
	return false, a.refusedApply(ctx, it, uid, err)
}

// refusedApply turns a refusal into trouble of this object, and passes on what is the wire's.
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

// replace deletes an object whose author lets it be made again; the next pass makes it.
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

// makeNamespace creates a Namespace that the wrapper lists, with its marks so that it is known for ours should the pass die,
// and then applies the rest. again reports that another client was faster.
func (a *applier) makeNamespace(ctx context.Context, it *item) (again bool, err error) {
	ns := &unstructured.Unstructured{Object: map[string]any{}}
	ns.SetName(it.object.Name)
	a.objects.stamp(it, ns)
	made, err := a.namespaces.create(ctx, ns)
	switch {
	case apierrors.IsAlreadyExists(err):
		return true, nil
	case err != nil:
		return false, a.refusedApply(ctx, it, "", err)
	}
	return a.applyOver(ctx, it, made.UID, "")
}

// closesNamespace looks whether the member has closed a namespace that is recorded as ours. What is gone, or another one by
// now, the apply finds out.
func (a *applier) closesNamespace(ctx context.Context, it *item) (bool, error) {
	found, err := a.namespaces.get(ctx, it.object.Name)
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil && memberapi.Answered(err):
		it.refused = true
		a.trouble.Add(memberapi.Explain("looking at", it.String(), err))
		return true, nil
	case err != nil:
		return false, fmt.Errorf("looking at %s on member %s: %w", it, a.conn.Name(), err)
	}
	return a.look.isClosed(it, found), nil
}
