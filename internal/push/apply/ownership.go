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
	"github.com/fairlead-dev/fairlead/internal/push/plan"
)

// claim is the result of a look: to whom an object on the member belongs, and what Fairlead may do with it. The zero
// value is a bug.
type claim int

const (
	_ claim = iota
	// absent: there is no such object; it may be made.
	absent
	// ours: this wrapper's object. Or an object that a deleted wrapper of the same name kept, if it equals the
	// desired one.
	ours
	// adoptable: another client made it, and the author allows Fairlead to adopt it as it is.
	adoptable
	// taken: it belongs to another client and must not be written. There is trouble that names the owner.
	taken
	// dying: it is being deleted, or its state cannot be read now. There is trouble with the reason.
	dying
	// closed: a namespace that the member has closed to the host. Its entry stays as recorded. There is trouble that
	// says so.
	closed
)

// looker finds out to whom objects on the member belong.
type looker struct {
	conn       *member.Conn
	desired    *plan.Desired
	objects    *objects
	namespaces *namespaces
	trouble    *memberapi.Troubles
}

// look finds out to whom an object belongs that is not recorded as applied. It returns the metadata of an object that
// exists.
func (l *looker) look(ctx context.Context, it *item) (claim, *metav1.PartialObjectMetadata, error) {
	found, err := memberapi.Metadata(ctx, l.conn, it.path())
	if memberapi.IsPathGone(err) {
		// The member does not serve the path to which the kind was mapped. So it is not known whether the object exists.
		l.conn.DoubtMapping(it.groupKind())
		l.trouble.Add(memberapi.Waiting(plan.RetrySoon, v1alpha1.ReasonAPINotServed,
			"%s: the member no longer serves %s where it did; the manager looks the kind up again", it, it.entry.Kind))
		return dying, nil, nil
	}
	if apierrors.IsNotFound(err) {
		return absent, nil, nil
	}
	if err != nil {
		if memberapi.AnsweredAbout(it.entry.Group, err) {
			it.refused = true
			l.trouble.Add(memberapi.Explain("looking at", it.String(), err))
			return taken, nil, nil
		}
		return 0, nil, fmt.Errorf("looking at %s on member %s: %w", it, l.conn.Name(), err)
	}
	if found.DeletionTimestamp != nil {
		l.trouble.Add(memberapi.Waiting(plan.RetrySoon, v1alpha1.ReasonRemovalWaits,
			"%s is being deleted on the member and is made again when it is gone%s", it, memberapi.HeldBy(found)))
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
			"%s belongs to %s: an object can be in one wrapper only", it, found.Annotations[v1alpha1.AnnotationWrapper]))
		return taken, found, nil
	case it.isNamespace() && found.Labels[v1alpha1.LabelMade] == "true":
		// The manager made it for a Federated (createForFederated). No inventory lists it, so this wrapper may have it.
		return ours, found, nil
	case l.desired.OnConflict == v1alpha1.ConflictAdoptIfEqual:
		return l.compareForAdoption(ctx, it, found)
	}
	l.trouble.Add(memberapi.Stalled(v1alpha1.ReasonObjectExists,
		"%s is there already and was not made by Fairlead (%s): remove it, rename yours, or set onConflict: AdoptIfEqual", it, managedBy(found)))
	return taken, found, nil
}

// isLeftToUs reports whether an object of an earlier wrapper of this name belongs to this wrapper now. It does if the
// Delivery that this wrapper took over lists it, or if it equals the desired object. Its marks do not name the host
// of the earlier wrapper, and another host's object of the same name may hold other data.
func (i *item) isLeftToUs(found *metav1.PartialObjectMetadata) bool {
	return i.entry.UID == found.UID || found.Annotations[v1alpha1.AnnotationRendering] == i.entry.Rendering
}

// leftByAnother says to whom the object belonged, and how a person gives it to this wrapper.
func (l *looker) leftByAnother(it *item, found *metav1.PartialObjectMetadata) memberapi.Trouble {
	return memberapi.Trouble{State: v1alpha1.StateHeld, Reason: v1alpha1.ReasonWrapperReplaced, Retry: plan.RetryLater, Message: fmt.Sprintf(
		"%s: to adopt it, label it %s=%s on the member, or wrap its content; it belongs to an earlier wrapper of this name, or to another host (uid %s), and differs",
		it, v1alpha1.LabelUID, l.desired.Wrapper.UID, found.Labels[v1alpha1.LabelUID])}
}

// managedBy names the client that wrote an object last, as messages do.
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
		return "no client is recorded as its manager"
	}
	return "managed by " + last.Manager
}

// isClosed reports whether the host must not write to a namespace, and adds trouble that says so.
func (l *looker) isClosed(it *item, found *metav1.PartialObjectMetadata) bool {
	if !it.isNamespace() || l.namespaces.isOpen(found) {
		return false
	}
	it.refused = true
	l.trouble.Add(notOpen(found.Name))
	return true
}
