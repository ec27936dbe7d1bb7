// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/revision"
	"github.com/fairlead-dev/fairlead/federate/upgrade"
	"github.com/fairlead-dev/fairlead/internal/push"
)

// Limit is how many revisions of a wrapper the manager keeps. Older revisions that are still in use stay too.
const Limit = 10

// Writer writes the ControllerRevision of a wrapper's present spec, and deletes old ones.
type Writer struct {
	Client client.Client
	// Live reads from the host's API server, not from the cache.
	Live client.Reader
	// Key encrypts revisions whose objects include a Secret.
	Key     *revision.HistoryKey
	Wrapper v1alpha1.Wrapper
	// Name is the name of the ControllerRevision.
	Name string
}

// author returns the user who wrote the present content, from the annotation that admission wrote. It returns "" if
// that annotation does not belong to this content. With `approve: Latest`, the content also includes the versions that
// the manager took. If only such a version is new, no user wrote the revision, and author returns "".
func (w Writer) author(present revision.Revision) string {
	if spec := w.Wrapper.WrapperSpec(); upgrade.TakesLatest(&spec.Upgrade) {
		written, err := revision.Of(spec)
		if err != nil || w.Wrapper.WrapperStatus().ObservedGeneration == w.Wrapper.GetGeneration() {
			return ""
		}
		present = written
	}
	key := push.KeyOf(v1alpha1.Identity(w.Wrapper))
	return w.Key.Author(key.Kind, key.NamespacedName, present, w.Wrapper.GetAnnotations()[v1alpha1.AnnotationAuthor])
}

// Write creates the ControllerRevision, or uses the one that exists.
func (w Writer) Write(ctx context.Context, present revision.Revision) error {
	data, err := w.Key.Encode(present, w.Wrapper.GetUID(), w.Name)
	if err != nil {
		return fmt.Errorf("encoding ControllerRevision %s: %w", w.Name, err)
	}
	id := v1alpha1.Identity(w.Wrapper)
	obj := &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: id.Beside(),
			Name:      w.Name,
			Labels: map[string]string{
				v1alpha1.LabelUID:     string(id.UID),
				v1alpha1.LabelContent: w.Key.Label(present),
			},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: v1alpha1.GroupVersion.String(), Kind: string(id.Kind),
				Name: id.Name, UID: id.UID,
			}},
		},
		Data:     runtime.RawExtension{Raw: data},
		Revision: w.Wrapper.GetGeneration(),
	}
	if name := w.author(present); name != "" {
		obj.Annotations = map[string]string{v1alpha1.AnnotationWrittenBy: name}
	}
	err = w.Client.Create(ctx, obj)
	if apierrors.IsAlreadyExists(err) {
		return w.take(ctx, obj)
	}
	if err != nil {
		return fmt.Errorf("writing ControllerRevision %s: %w", w.Name, err)
	}
	return nil
}

// take uses an existing ControllerRevision of the same name if it belongs to this wrapper. If it belongs to an
// earlier wrapper of this name, take replaces it, because the garbage collector deletes objects whose owner is
// gone.
func (w Writer) take(ctx context.Context, wanted *appsv1.ControllerRevision) error {
	found := &metav1.PartialObjectMetadata{}
	found.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("ControllerRevision"))
	if err := w.Live.Get(ctx, client.ObjectKeyFromObject(wanted), found); err != nil {
		return fmt.Errorf("reading ControllerRevision %s: %w", w.Name, err)
	}
	if found.Labels[v1alpha1.LabelUID] == string(w.Wrapper.GetUID()) {
		return w.noteRewrite(ctx, found, wanted.Annotations[v1alpha1.AnnotationWrittenBy])
	}
	err := w.Client.Delete(ctx, found, client.Preconditions{UID: &found.UID})
	if err == nil || apierrors.IsNotFound(err) {
		err = w.Client.Create(ctx, wanted)
	}
	if err != nil {
		return fmt.Errorf("replacing ControllerRevision %s of an earlier wrapper of this name: %w", w.Name, err)
	}
	return nil
}

// noteRewrite records the user who wrote the content of an existing revision again, for example by an undo. The
// annotation with the first author stays, because the number and the age of the revision are those of the first write.
// If the last author in the annotations is already this user, noteRewrite writes nothing. That is so, for example,
// after a manager wrote the revision and ended before it wrote the status.
func (w Writer) noteRewrite(ctx context.Context, found *metav1.PartialObjectMetadata, name string) error {
	last, again := found.Annotations[v1alpha1.AnnotationRewrittenBy]
	if !again {
		last = found.Annotations[v1alpha1.AnnotationWrittenBy]
	}
	if last == name {
		return nil
	}
	before := found.DeepCopy()
	metav1.SetMetaDataAnnotation(&found.ObjectMeta, v1alpha1.AnnotationRewrittenBy, name)
	err := w.Client.Patch(ctx, found, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if apierrors.IsForbidden(err) {
		// The manager still has the RBAC roles of an earlier version, which do not allow this patch. Members get the
		// change even if the history lacks the name of its author.
		log.FromContext(ctx).Error(err, "recording who wrote a revision again failed", "revision", w.Name, "author", name)
		return nil
	}
	if err != nil {
		return fmt.Errorf("recording who wrote revision %s again: %w", w.Name, err)
	}
	return nil
}

// Trim deletes the oldest revisions beyond Limit. It keeps each revision that the status, a desired state or a
// member's Delivery still names. It calls revisionsInUse for these only if there are too many revisions.
func (w Writer) Trim(ctx context.Context, revisionsInUse func() map[string]bool) error {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("ControllerRevisionList"))
	if err := w.Live.List(ctx, list, client.InNamespace(v1alpha1.Identity(w.Wrapper).Beside()),
		client.MatchingLabels{v1alpha1.LabelUID: string(w.Wrapper.GetUID())}); err != nil {
		return fmt.Errorf("listing the ControllerRevisions of %s: %w", push.KeyOf(v1alpha1.Identity(w.Wrapper)), err)
	}
	if len(list.Items) <= Limit {
		return nil
	}
	inUse := revisionsInUse()
	slices.SortFunc(list.Items, older)
	over := len(list.Items) - Limit
	for i := range list.Items {
		if over == 0 {
			return nil
		}
		old := &list.Items[i]
		if inUse[old.Name] {
			continue
		}
		if err := client.IgnoreNotFound(w.Client.Delete(ctx, old, client.Preconditions{UID: &old.UID})); err != nil {
			return fmt.Errorf("deleting the old ControllerRevision %s: %w", old.Name, err)
		}
		over--
	}
	return nil
}

// older orders revisions by their last write. It compares resourceVersions, because a creationTimestamp has only whole
// seconds, and many revisions may have the same one. The manager writes to an existing revision only if a user writes
// the same content again.
func older(a, b metav1.PartialObjectMetadata) int {
	if order, err := resourceversion.CompareResourceVersion(a.ResourceVersion, b.ResourceVersion); err == nil {
		return order
	}
	return a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
}
