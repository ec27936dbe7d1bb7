// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/marks"
	"github.com/fairlead-dev/fairlead/internal/member"
	"github.com/fairlead-dev/fairlead/internal/push/memberapi"
	"github.com/fairlead-dev/fairlead/internal/push/namespaces"
	"github.com/fairlead-dev/fairlead/internal/push/plan"
)

// claim says whose an object on the member is, and what the pass may do with it. The method look returns the zero value
// only together with an error.
type claim int

const (
	_ claim = iota
	// absent: the object does not exist; the pass may create it.
	absent
	// ours: the object belongs to this wrapper. It has this wrapper's marks, or an earlier wrapper of the same name left
	// it (isLeftToUs), or it is a Namespace that the manager created for a Federated.
	ours
	// adoptable: the object belongs to another client. The pass may adopt it, because the author allows adoption and an
	// apply would change only Fairlead's marks.
	adoptable
	// taken: the pass must not write the object, because the object belongs to another client, or the API server refused
	// to let the manager read it. The trouble of the pass has the reason.
	taken
	// dying: the pass cannot decide yet, because the object is being deleted, or the member does not serve the cached URL
	// path of the kind. The trouble of the pass has the reason.
	dying
	// closed: the object is a Namespace that the member has closed to the host, so the pass must not write it. The trouble
	// of the pass has the reason.
	closed
)

// looker finds out to whom objects on the member belong.
type looker struct {
	conn       *member.Conn
	desired    *plan.Desired
	objects    *objects
	namespaces *namespaces.Namespaces
	trouble    *memberapi.Troubles
}

// look finds out to whom an object belongs. The pass calls it for an object that the Delivery does not record as
// applied. It also returns the object's metadata; nil if the object is absent or could not be read.
func (l *looker) look(ctx context.Context, it *item) (claim, *metav1.PartialObjectMetadata, error) {
	found, err := memberapi.Metadata(ctx, l.conn, it.path())
	if memberapi.IsPathGone(err) {
		// The member does not serve the URL path of the cached mapping, so the answer does not show whether the object
		// exists.
		l.conn.DoubtMapping(it.groupKind())
		if it.unlisted && !it.wasThere {
			// This pass is the first that applies the object, and the member has never served it: a removal need not wait for
			// the kind.
			it.entry.Resource = ""
		}
		l.trouble.Add(memberapi.Waiting(plan.RetrySoon, v1alpha1.ReasonAPINotServed,
			"%s: the member does not serve %s in %s; the manager looks the kind up again", it, it.entry.Kind, it.object.GVK.GroupVersion()))
		return dying, nil, nil
	}
	if apierrors.IsNotFound(err) {
		return absent, nil, nil
	}
	if err != nil {
		if memberapi.AnsweredAbout(it.entry.Group, err) {
			it.refused = true
			l.trouble.Add(memberapi.Explain("reading", it.String(), err))
			return taken, nil, nil
		}
		return 0, nil, fmt.Errorf("reading %s on member %s: %w", it, l.conn.Name(), err)
	}
	if found.DeletionTimestamp != nil {
		l.trouble.Add(memberapi.Waiting(plan.RetrySoon, v1alpha1.ReasonRemovalWaits,
			"%s is being deleted on the member; the manager creates it again when it is gone%s", it, memberapi.HeldBy(found)))
		return dying, found, nil
	}
	return l.judge(ctx, it, found)
}

func (l *looker) judge(ctx context.Context, it *item, found *metav1.PartialObjectMetadata) (claim, *metav1.PartialObjectMetadata, error) {
	mine := marks.WrapperPath(l.desired.Wrapper.Kind, l.desired.Wrapper.Namespace, l.desired.Wrapper.Name)
	switch {
	case (found.Labels[v1alpha1.LabelUID] != "" || l.desired.OnConflict == v1alpha1.ConflictAdoptIfEqual) && l.isClosed(it, found):
		return closed, found, nil
	case marks.IsOurs(found, l.desired.Wrapper.UID, it.mark()):
		return ours, found, nil
	case marks.IsPushed(found, it.mark()) && found.Annotations[v1alpha1.AnnotationWrapper] == mine && it.isLeftToUs(found):
		return ours, found, nil
	case marks.IsPushed(found, it.mark()) && found.Annotations[v1alpha1.AnnotationWrapper] == mine &&
		l.desired.OnConflict != v1alpha1.ConflictAdoptIfEqual:
		l.trouble.Add(l.leftByAnother(it, found))
		return taken, found, nil
	case marks.IsPushed(found, it.mark()) && found.Annotations[v1alpha1.AnnotationWrapper] != mine:
		l.trouble.Add(memberapi.Stalled(v1alpha1.ReasonOwnedByOther,
			"%s on the member belongs to wrapper %s: an object can be in one wrapper only", it, found.Annotations[v1alpha1.AnnotationWrapper]))
		return taken, found, nil
	case it.isNamespace() && found.Labels[v1alpha1.LabelMade] == "true":
		// The manager created this Namespace for a Federated (namespaces.Open). It is in no inventory, so this wrapper may
		// take it.
		return ours, found, nil
	case l.desired.OnConflict == v1alpha1.ConflictAdoptIfEqual:
		return l.compareForAdoption(ctx, it, found)
	}
	l.trouble.Add(memberapi.Stalled(v1alpha1.ReasonObjectExists,
		"%s exists on the member already and was not created by Fairlead (%s): remove it, rename yours, or set spec.onConflict: AdoptIfEqual", it, managedBy(found)))
	return taken, found, nil
}

// isLeftToUs reports whether an object belongs to this wrapper although an earlier wrapper of this name left it on the
// member. It does if this wrapper took over the Delivery that lists the object, or if the object equals the desired
// one. The equal name alone is not enough: the marks do not name the host. A wrapper of that name on another host may
// have put other data there.
func (i *item) isLeftToUs(found *metav1.PartialObjectMetadata) bool {
	return i.entry.UID == found.UID || found.Annotations[v1alpha1.AnnotationRendering] == i.entry.Rendering
}

// leftByAnother is the trouble with an object that an earlier wrapper of this name left, and that differs from the
// desired object. Its message says how a person can give the object to this wrapper.
func (l *looker) leftByAnother(it *item, found *metav1.PartialObjectMetadata) memberapi.Trouble {
	return memberapi.Trouble{State: v1alpha1.StateHeld, Reason: v1alpha1.ReasonWrapperReplaced, Retry: plan.RetryLater, Message: fmt.Sprintf(
		"%s: to adopt it, label it %s=%s on the member, or wrap its content; it belongs to an earlier wrapper of this name, or to another host (uid %s), and differs",
		it, v1alpha1.LabelUID, l.desired.Wrapper.UID, found.Labels[v1alpha1.LabelUID])}
}

// managedBy returns, for a message, the field manager that wrote an object last.
func managedBy(found metav1.Object) string {
	var last *metav1.ManagedFieldsEntry
	entries := found.GetManagedFields()
	for i := range entries {
		e := &entries[i]
		if e.Subresource == "" && (last == nil || e.Time != nil && (last.Time == nil || last.Time.Before(e.Time))) {
			last = e
		}
	}
	if last == nil {
		return "it names no field manager"
	}
	return "managed by " + last.Manager
}

// isClosed reports whether the item is a Namespace that the member has closed to the host. If so, it refuses the item
// and adds trouble.
func (l *looker) isClosed(it *item, found *metav1.PartialObjectMetadata) bool {
	if !it.isNamespace() || l.namespaces.IsOpen(found) {
		return false
	}
	it.refused = true
	l.trouble.Add(namespaces.NotOpen(found.Name))
	return true
}

// closesNamespace reports whether the pass must not apply a Namespace that the Delivery records as this wrapper's: the
// member has closed it to the host, or refuses to let the manager read it. For a Namespace that is gone or replaced it
// returns false, because the apply detects that.
func (l *looker) closesNamespace(ctx context.Context, it *item) (bool, error) {
	found, err := l.namespaces.Get(ctx, it.object.Name)
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil && memberapi.Answered(err):
		it.refused = true
		l.trouble.Add(memberapi.Explain("reading", it.String(), err))
		return true, nil
	case err != nil:
		return false, fmt.Errorf("reading %s on member %s: %w", it, l.conn.Name(), err)
	}
	return l.isClosed(it, found), nil
}
