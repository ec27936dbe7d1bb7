// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/member"
	"github.com/fairlead-dev/fairlead/internal/push/memberapi"
)

// createOnly is the resourceVersion of a create-only apply. No object has this resourceVersion, because etcd numbers
// its first write 2. If the object is absent, the API server creates it. If the object exists, the API server answers
// 409 and changes nothing.
const createOnly = "1"

// applyUnlisted sends a create-only apply of an object that is most likely absent, so that the pass need not read the
// object first. If the apply succeeds, it.due is false afterwards. refusal is the API server's refusal of the apply.
// After a refusal the caller reads the object, because an object of another client may have the name. Admission runs
// before the API server checks the resourceVersion, so a webhook may have refused a change of that other object.
func (a *applier) applyUnlisted(ctx context.Context, it *item) (refusal, err error) {
	if !it.unlisted || !a.createsUnread(ctx, it) {
		return nil, nil
	}
	body, err := a.objects.stamped(it, "", createOnly)
	if err != nil {
		return nil, err
	}
	answer, err := member.Do(ctx, a.objects.request(it, body, false), true)
	switch {
	case err != nil && memberapi.AnsweredAbout(it.entry.Group, err):
		return err, nil
	case err != nil:
		return nil, fmt.Errorf("applying %s to member %s: %w", it, a.objects.conn.Name(), err)
	case answer.Status != http.StatusCreated:
		a.native.Doubt()
	}
	_, err = a.settle(ctx, it, answer)
	return nil, err
}

// createsUnread reports whether the pass may create an object without reading it first. These objects it must read:
//   - a Namespace, because makeNamespace creates it with LabelMade, and an apply must not set that label;
//   - an OperatorGroup or a Subscription (mayDisturb), because a new one may break other operators in the namespace;
//   - an object of a kind that is not native, because its server may ignore the resourceVersion.
func (a *applier) createsUnread(ctx context.Context, it *item) bool {
	return !it.isNamespace() && !mayDisturb(it) && a.native.Has(ctx, a.objects.conn, it.groupKind(), it.entry.Resource)
}

// isAboutObject reports whether the API server would give the same refusal to an ordinary apply of an absent object. A
// conflict is no such refusal: it means that an object exists. Nor is a message about the resourceVersion, because an
// ordinary apply does not send one.
func isAboutObject(refusal error) bool {
	return refusal != nil && !apierrors.IsConflict(refusal) && !strings.Contains(refusal.Error(), "resourceVersion")
}

// make applies, without force, an object that was absent when the pass read it. Status 201 means that this apply
// created the object. Status 200 means that another client created it first, and the API server merged the apply into
// it; settle then undoes the apply.
func (a *applier) make(ctx context.Context, it *item) (again bool, err error) {
	if it.entry.UID != "" {
		// The recorded object is gone. The Delivery has to record that before the manager creates the object again. Otherwise,
		// if the pass ended after the creation, the Delivery would list the old uid, and Fairlead would never remove the new
		// object.
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
		return false, a.refusals.refused(ctx, it, "", err)
	}
	return a.settle(ctx, it, answer)
}

// makeNamespace creates a Namespace that the wrapper lists, and then applies its content. It creates the Namespace with
// Fairlead's marks. If the pass ends between the two requests, the next pass recognises the Namespace by these marks.
// again reports that another client created the Namespace first.
func (a *applier) makeNamespace(ctx context.Context, it *item) (again bool, err error) {
	ns := &unstructured.Unstructured{Object: map[string]any{}}
	ns.SetName(it.object.Name)
	a.objects.stamp(it, ns)
	made, err := a.namespaces.Create(ctx, ns)
	switch {
	case apierrors.IsAlreadyExists(err):
		return true, nil
	case err != nil:
		return false, a.refusals.refused(ctx, it, "", err)
	}
	return a.applyOver(ctx, it, made.UID, "")
}

// settle acts on the API server's answer to an apply without force. again reports that the API server had merged the
// apply into an object of another client, and that settle has undone the apply.
func (a *applier) settle(ctx context.Context, it *item, answer member.Answer) (again bool, err error) {
	if answer.Status == http.StatusCreated {
		return false, it.record(answer)
	}
	merged := &metav1.PartialObjectMetadata{}
	if err := answer.Into(merged); err != nil {
		return false, err
	}
	if onlyOurs(merged) {
		// This host created the object with an earlier request. The manager that sent it ended or lost its lease, and the
		// request arrived late.
		return false, it.record(answer)
	}
	if err := a.objects.takeBack(ctx, it, merged); err != nil {
		return false, fmt.Errorf("undoing the apply to %s of another client on member %s: %w", it, a.objects.conn.Name(), err)
	}
	return true, nil
}

// onlyOurs reports whether Fairlead's field manager is the only one that has written the object. Writes to
// subresources, for example to the status, do not count.
func onlyOurs(found *metav1.PartialObjectMetadata) bool {
	for i := range found.ManagedFields {
		if e := &found.ManagedFields[i]; e.Subresource == "" && e.Manager != v1alpha1.FieldManager {
			return false
		}
	}
	return len(found.ManagedFields) > 0
}

// takeBack undoes an apply that the API server merged into an object of another client. It sends an empty apply, which
// removes the marks and the fields that only Fairlead owns. The API server refuses the empty apply if the object would
// be invalid without these fields. takeBack then gives up their ownership and leaves the values.
func (o *objects) takeBack(ctx context.Context, it *item, merged *metav1.PartialObjectMetadata) error {
	nothing, err := json.Marshal(map[string]any{
		"apiVersion": it.object.GVK.GroupVersion().String(),
		"kind":       it.object.GVK.Kind,
		"metadata":   map[string]any{"name": it.object.Name, "namespace": it.object.Namespace, "uid": merged.UID},
	})
	if err != nil {
		return fmt.Errorf("encoding the empty apply that undoes an earlier apply: %w", err)
	}
	_, err = member.Do(ctx, o.request(it, nothing, true), true)
	switch {
	case err == nil || isAnother(err):
		return nil
	case !memberapi.AnsweredAbout(it.entry.Group, err):
		return err
	}
	if err = memberapi.Release(ctx, o.conn, it.path(), merged); memberapi.IsAbsent(err) {
		return nil
	}
	return err
}
