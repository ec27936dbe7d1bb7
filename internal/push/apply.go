// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/marks"
	"github.com/fairlead-dev/fairlead/internal/member"
)

// looksAgain bounds how often one object is looked at again in one pass because it changed hands
// meanwhile.
const looksAgain = 3

// apply writes every object that is due, in install order. One that is refused does not keep the
// others from going on.
func (p *pass) apply(ctx context.Context) error {
	for _, it := range p.items {
		if !it.due || it.refused {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := p.applyItem(ctx, it); err != nil {
			return err
		}
		if it.entry.Kind == "CustomResourceDefinition" && it.entry.State == v1alpha1.EntryApplied {
			p.conn.ForgetMappings()
		}
	}
	return nil
}

// applyItem brings one object there: what is recorded by its uid, all else after a look.
func (p *pass) applyItem(ctx context.Context, it *item) error {
	if it.recorded {
		if it.isNamespace() {
			if closed, err := p.closesNamespace(ctx, it); closed || err != nil {
				return err
			}
		}
		again, err := p.applyOver(ctx, it, it.entry.UID, "")
		if err != nil || !again {
			return err
		}
		// It is gone, or another one: not what was recorded any more.
		it.recorded, it.entry.State = false, v1alpha1.EntryPending
	}
	if p.claims != nil {
		// Two wrappers that both find a name free would both take what the first of them makes for theirs.
		name := it.mark()
		p.claims.LockKey(name)
		defer func() { _ = p.claims.UnlockKey(name) }() // it is held
	}
	for range looksAgain {
		again, err := p.applyLooked(ctx, it)
		if err != nil || !again {
			return err
		}
	}
	p.trouble = append(p.trouble, trouble{state: v1alpha1.StateDegraded, reason: v1alpha1.ReasonPushError, retry: retrySoon,
		message: fmt.Sprintf("%s keeps changing hands while it is being applied", it)})
	return nil
}

// isAnother recognises what the API server answers to an apply with a uid: 409 when no such object is
// there, 422 on metadata.uid when it is another.
func (p *pass) isAnother(err error) bool {
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

// applyLooked looks whose the object is and does what follows; again says that somebody was faster.
func (p *pass) applyLooked(ctx context.Context, it *item) (again bool, err error) {
	whose, found, err := p.look(ctx, it)
	if err != nil {
		return false, err
	}
	switch whose {
	case absent:
		return p.make(ctx, it)
	case ours:
		return p.applyOver(ctx, it, found.UID, "")
	case adoptable:
		// Written down before our marks are on it: after them a look would take it for our own making.
		it.entry.Adopted, it.entry.UID = v1alpha1.AdoptedYes, found.UID
		if err := p.note(ctx); err != nil {
			return false, err
		}
		return p.applyOver(ctx, it, found.UID, found.ResourceVersion)
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
func (p *pass) make(ctx context.Context, it *item) (again bool, err error) {
	if it.entry.UID != "" {
		// What was recorded is gone. To be written down before another is there, or that one would not be
		// the recorded one, and nobody's to remove.
		it.entry.UID, it.entry.Fields, it.entry.Adopted = "", "", ""
		if err := p.note(ctx); err != nil {
			return false, err
		}
	}
	if it.isNamespace() {
		return p.makeNamespace(ctx, it)
	}
	body, err := p.stamped(it, "", "")
	if err != nil {
		return false, err
	}
	answer, err := member.Do(ctx, p.applyRequest(it, body, false), true)
	if apierrors.IsConflict(err) {
		return true, nil
	}
	if err != nil {
		return false, p.refusedApply(ctx, it, "", err)
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
	if err := p.takeBack(ctx, it, merged); err != nil {
		return false, fmt.Errorf("giving %s on member %s back: %w", it, p.conn.Name(), err)
	}
	return true, nil
}

// applyOver applies by force to the very object that is meant; again says that it is gone or another
// one by now, and has to be looked at.
func (p *pass) applyOver(ctx context.Context, it *item, uid types.UID, resourceVersion string) (again bool, err error) {
	if err := p.handOverReplicas(ctx, it, uid); err != nil {
		return false, err
	}
	body, err := p.stamped(it, uid, resourceVersion)
	if err != nil {
		return false, err
	}
	answer, err := member.Do(ctx, p.applyRequest(it, body, true), true)
	if err == nil {
		return false, it.record(answer)
	}
	if p.isAnother(err) {
		return true, nil
	}
	return false, p.refusedApply(ctx, it, uid, err)
}

// refusedApply turns a refusal into trouble of this object, and passes on what is the wire's.
func (p *pass) refusedApply(ctx context.Context, it *item, uid types.UID, err error) error {
	if !answeredAbout(it.entry.Group, err) {
		return fmt.Errorf("applying %s to member %s: %w", it, p.conn.Name(), err)
	}
	if apierrors.IsNotFound(err) {
		// The kind itself is gone: its CRD was deleted since it was mapped.
		if isPathGone(err) {
			p.conn.DoubtMapping(it.groupKind())
		}
		p.trouble = append(p.trouble, waiting(retrySoon, v1alpha1.ReasonAPINotServed,
			"%s: the member does not serve %s any more, or its namespace is gone", it, it.entry.Kind))
		return nil
	}
	t := explain("applying", it.String(), err)
	if t.reason == v1alpha1.ReasonImmutableField && it.object.Replace && uid != "" && mayReplace(it.groupKind()) {
		return p.replace(ctx, it, uid)
	}
	p.trouble = append(p.trouble, t)
	return nil
}

// replace deletes an object whose author lets it be made again; the next pass makes it.
func (p *pass) replace(ctx context.Context, it *item, uid types.UID) error {
	if spared, err := p.spareReplaced(ctx, it, uid); spared || err != nil {
		return err
	}
	err := deleteExactly(ctx, p.conn, it.path(), metav1.Preconditions{UID: &uid})
	switch {
	case err == nil, apierrors.IsNotFound(err), apierrors.IsConflict(err):
		it.entry.State = v1alpha1.EntryPending
		p.trouble = append(p.trouble, waiting(retrySoon, v1alpha1.ReasonRemovalWaits,
			"%s is being deleted to be made again, as its annotation %s asks", it, v1alpha1.AnnotationReplace))
		return nil
	case answeredAbout(it.entry.Group, err):
		p.trouble = append(p.trouble, explain("replacing", it.String(), err))
		return nil
	}
	return fmt.Errorf("replacing %s on member %s: %w", it, p.conn.Name(), err)
}

// stamped is the body of an apply: the rendering with our marks, and the uid and resourceVersion that
// the object must have where they are not empty.
func (p *pass) stamped(it *item, uid types.UID, resourceVersion string) ([]byte, error) {
	obj, err := it.object.Unstructured()
	if err != nil {
		return nil, err
	}
	p.stamp(it, obj)
	obj.SetUID(uid)
	obj.SetResourceVersion(resourceVersion)
	return obj.MarshalJSON()
}

// stamp writes the item's marks on an object.
func (p *pass) stamp(it *item, obj *unstructured.Unstructured) {
	w := &p.want.Wrapper
	marks.Stamp(obj, marks.Marks{
		UID: w.UID, Wrapper: marks.WrapperPath(w.Kind, w.Namespace, w.Name),
		Object: it.mark(), Rendering: it.object.Digest,
	})
}

func (p *pass) applyRequest(it *item, body []byte, force bool) *rest.Request {
	return p.conn.REST().Patch(types.ApplyPatchType).AbsPath(it.path()...).
		Param("fieldManager", v1alpha1.FieldManager).
		Param("force", strconv.FormatBool(force)).
		Body(body)
}

// record notes what an apply brought back.
func (i *item) record(answer member.Answer) error {
	there := metav1.PartialObjectMetadata{}
	if err := answer.Into(&there); err != nil {
		return fmt.Errorf("reading what applying %s brought back: %w", i, err)
	}
	i.entry.State = v1alpha1.EntryApplied
	i.entry.UID, i.entry.Fields = there.UID, marks.FieldsDigest(there.ManagedFields)
	i.recorded, i.due, i.version = true, false, there.ResourceVersion
	return nil
}
