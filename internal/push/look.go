// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/marks"
	"github.com/fairlead-dev/fairlead/internal/member"
)

// claim is whose an object on the member is, and what follows for us. The zero value is a bug.
type claim int

const (
	_ claim = iota
	// absent: nobody's; it may be made.
	absent
	// ours: this wrapper's, or what a dead wrapper of the same name kept, where it is what is wanted.
	ours
	// adoptable: somebody else's, and the author lets us take it into care as it is.
	adoptable
	// taken: somebody else's; hands off. There is trouble that says whose.
	taken
	// dying: it is being deleted, or cannot be asked for now; there is trouble that says so.
	dying
	// closed: a namespace that the member keeps to itself; what is recorded of it stands. There is trouble that says so.
	closed
)

// look finds out whose an object is that is not recorded as applied. The metadata that it read comes
// back for those that are there.
func (p *pass) look(ctx context.Context, it *item) (claim, *metav1.PartialObjectMetadata, error) {
	found, err := metadata(ctx, p.conn, it.path())
	if isPathGone(err) {
		// The kind is served in another way than it was mapped: whether the object is there is not known.
		p.conn.DoubtMapping(it.groupKind())
		p.trouble = append(p.trouble, waiting(retrySoon, v1alpha1.ReasonAPINotServed,
			"%s: the member serves %s in another way than before", it, it.entry.Kind))
		return dying, nil, nil
	}
	if apierrors.IsNotFound(err) {
		return absent, nil, nil
	}
	if err != nil {
		if answeredAbout(it.entry.Group, err) {
			it.refused = true
			p.trouble = append(p.trouble, explain("looking at", it.String(), err))
			return taken, nil, nil
		}
		return 0, nil, fmt.Errorf("looking at %s on member %s: %w", it, p.conn.Name(), err)
	}
	if found.DeletionTimestamp != nil {
		p.trouble = append(p.trouble, waiting(retrySoon, v1alpha1.ReasonRemovalWaits,
			"%s is being deleted on the member and is made again when it is gone%s", it, heldBy(found)))
		return dying, found, nil
	}
	return p.judge(ctx, it, found)
}

func (p *pass) judge(ctx context.Context, it *item, found *metav1.PartialObjectMetadata) (claim, *metav1.PartialObjectMetadata, error) {
	mine := marks.WrapperPath(p.want.Wrapper.Kind, p.want.Wrapper.Namespace, p.want.Wrapper.Name)
	switch {
	case (found.Labels[v1alpha1.LabelUID] != "" || p.want.OnConflict == v1alpha1.ConflictAdoptIfEqual) && p.isClosed(it, found):
		return closed, found, nil
	case marks.IsOurs(found, p.want.Wrapper.UID, it.mark()):
		return ours, found, nil
	case marks.IsPushed(found, it.mark()) && found.Annotations[v1alpha1.AnnotationWrapper] == mine && it.isLeftToUs(found):
		return ours, found, nil
	case marks.IsPushed(found, it.mark()) && found.Annotations[v1alpha1.AnnotationWrapper] == mine &&
		p.want.OnConflict != v1alpha1.ConflictAdoptIfEqual:
		p.trouble = append(p.trouble, p.leftByAnother(it, found))
		return taken, found, nil
	case marks.IsPushed(found, it.mark()) && found.Annotations[v1alpha1.AnnotationWrapper] != mine:
		p.trouble = append(p.trouble, stalled(v1alpha1.ReasonOwnedByOther,
			"%s belongs to %s: an object can be in one wrapper only", it, found.Annotations[v1alpha1.AnnotationWrapper]))
		return taken, found, nil
	case it.isNamespace() && found.Labels[v1alpha1.LabelMade] == "true":
		// Made on the way of some Federated, in no inventory: it was waiting for a wrapper of its own.
		return ours, found, nil
	case p.want.OnConflict == v1alpha1.ConflictAdoptIfEqual:
		return p.compareForAdoption(ctx, it, found)
	}
	p.trouble = append(p.trouble, stalled(v1alpha1.ReasonObjectExists,
		"%s is there already and was not made by Fairlead (%s): remove it, rename yours, or set onConflict: AdoptIfEqual", it, managedBy(found)))
	return taken, found, nil
}

// isLeftToUs says whether an object of an earlier wrapper of this name is ours now: where the Delivery that
// was taken over lists it, or where it is just what is wanted. Its marks do not tell of which host that
// wrapper was, and another host's object of the same name may hold another's data.
func (i *item) isLeftToUs(found *metav1.PartialObjectMetadata) bool {
	return i.entry.UID == found.UID || found.Annotations[v1alpha1.AnnotationRendering] == i.entry.Rendering
}

// leftByAnother says whose the object was, and how a person gives it to this wrapper.
func (p *pass) leftByAnother(it *item, found *metav1.PartialObjectMetadata) trouble {
	return trouble{state: v1alpha1.StateHeld, reason: v1alpha1.ReasonWrapperReplaced, retry: retryLater, message: fmt.Sprintf(
		"%s: to take it, label it there %s=%s, or wrap what it was; it is of an earlier wrapper of this name, or another host's (uid %s), and differs",
		it, v1alpha1.LabelUID, p.want.Wrapper.UID, found.Labels[v1alpha1.LabelUID])}
}

// metadata reads an object's metadata.
func metadata(ctx context.Context, conn *member.Conn, path []string) (*metav1.PartialObjectMetadata, error) {
	answer, err := member.Do(ctx, conn.REST().Get().AbsPath(path...), true)
	if err != nil {
		return nil, err
	}
	found := &metav1.PartialObjectMetadata{}
	if err := answer.Into(found); err != nil {
		return nil, err
	}
	if found.UID == "" || found.Name != path[len(path)-1] {
		return nil, fmt.Errorf("reading %s: the answer is another object: is spec.endpoint that of a Kubernetes API server?", strings.Join(path, "/"))
	}
	return found, nil
}

// managedBy says who wrote an object last, in a person's words.
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
		return "by whom is not recorded"
	}
	return "managed by " + last.Manager
}

func heldBy(found metav1.Object) string {
	if held := found.GetFinalizers(); len(held) > 0 {
		return "; it is held by " + strings.Join(held, ", ")
	}
	return ""
}

// String names the item as messages do.
func (i *item) String() string { return ref(i.entry.Kind, i.entry.Name) }

func (i *item) path() []string {
	return member.Path(i.mapping.Resource, i.object.Namespace, i.object.Name)
}

// mark is the item's own AnnotationObject.
func (i *item) mark() string {
	return marks.ObjectPath(i.entry.Resource, i.entry.Group, i.object.Namespace, i.object.Name)
}
