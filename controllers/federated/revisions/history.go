// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/controllers/federated/wrapperevents"
	"github.com/fairlead-dev/fairlead/federate/revision"
)

const (
	// historyPage is the number of revisions in one page of a list. It is small, because a revision may be as large as
	// a wrapper.
	historyPage = 10
	// historyRetry is the pause after an error before History tries again.
	historyRetry = 30 * time.Second
)

// History checks, once after the start of the manager, the revisions that earlier processes wrote. It encrypts
// revisions that an earlier version of Fairlead wrote with a Secret in plain text. It records an event for revisions
// that were encrypted with a lost key. If either check fails, the members are not affected.
type History struct {
	Client client.Client
	// Live reads from the host's API server, not from the cache.
	Live   client.Reader
	Events events.EventRecorder
	// Key is the host's present key.
	Key *revision.HistoryKey
}

// NewHistory makes a History. key is the host's present key.
func NewHistory(mgr ctrl.Manager, key *revision.HistoryKey) *History {
	return &History{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Key: key,
		Events: wrapperevents.Bounded{EventRecorder: mgr.GetEventRecorder("fairlead")}}
}

// Start implements manager.Runnable. It returns when both checks are complete.
func (h *History) Start(ctx context.Context) error {
	for _, step := range []func(context.Context) error{h.recordUnreadable, h.encryptPlain} {
		_ = wait.PollUntilContextCancel(ctx, historyRetry, true, func(ctx context.Context) (bool, error) {
			err := step(ctx)
			if err != nil {
				log.FromContext(ctx).Error(err, "checking the revisions of earlier processes failed; the manager tries again")
			}
			return err == nil, nil
		})
	}
	return nil
}

// encryptPlain replaces each revision that has a Secret in plain text by an encrypted revision. The new revision has
// the same name, because Deliveries and statuses refer to that name. Revisions without a Secret stay as they are.
func (h *History) encryptPlain(ctx context.Context) error {
	selector, err := selectRevisions(v1alpha1.LabelContent, selection.DoesNotExist)
	if err != nil {
		return err
	}
	var failed []error
	list := &appsv1.ControllerRevisionList{}
	for {
		if err := h.Live.List(ctx, list, client.MatchingLabelsSelector{Selector: selector},
			client.Limit(historyPage), client.Continue(list.Continue)); err != nil {
			return errors.Join(append(failed, fmt.Errorf("listing the ControllerRevisions of earlier processes: %w", err))...)
		}
		for i := range list.Items {
			if err := h.encrypt(ctx, &list.Items[i]); err != nil {
				failed = append(failed, err)
			}
		}
		if list.Continue == "" {
			return errors.Join(failed...)
		}
	}
}

// encrypt replaces one revision if it has a Secret in plain text. It deletes the revision and creates it again, because
// the API server allows no change of a revision's content. If the process ends between the deletion and the creation,
// the revision is lost.
func (h *History) encrypt(ctx context.Context, old *appsv1.ControllerRevision) error {
	uid := types.UID(old.Labels[v1alpha1.LabelUID])
	decoded, err := h.Key.Decode(old.Data.Raw, uid, old.Name)
	if err != nil {
		log.FromContext(ctx).Error(err, "the manager cannot read a revision of an earlier process", "namespace", old.Namespace)
		return nil // trying again does not help
	}
	if !decoded.HoldsSecret {
		return nil
	}
	replaced, err := h.Key.Encode(decoded, uid, old.Name)
	if err != nil {
		return fmt.Errorf("encrypting revision %s/%s: %w", old.Namespace, old.Name, err)
	}
	made := &appsv1.ControllerRevision{Revision: old.Revision}
	made.Namespace, made.Name, made.OwnerReferences = old.Namespace, old.Name, old.OwnerReferences
	made.Labels = map[string]string{v1alpha1.LabelUID: string(uid), v1alpha1.LabelContent: h.Key.Label(decoded)}
	made.Data.Raw = replaced
	// A dry run finds out whether the API server accepts the new revision, while the old one still exists.
	rehearsed := made.DeepCopy()
	rehearsed.Name, rehearsed.GenerateName = "", "fairlead-rehearsal-"
	if err := h.Client.Create(ctx, rehearsed, client.DryRunAll); err != nil {
		return fmt.Errorf("trying to encrypt revision %s/%s, which holds a Secret in plain text: %w", old.Namespace, old.Name, err)
	}
	err = h.Client.Delete(ctx, old, client.Preconditions{UID: &old.UID})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("replacing revision %s/%s, which holds a Secret in plain text: %w", old.Namespace, old.Name, err)
	}
	// Now only this process has the content of the revision. So it repeats the creation until the API server accepts
	// it, the namespace is deleted, or the manager ends.
	var refused error
	err = wait.PollUntilContextCancel(ctx, time.Second, true, func(ctx context.Context) (bool, error) {
		refused = h.Client.Create(ctx, made.DeepCopy())
		if apierrors.IsNotFound(refused) || apierrors.HasStatusCause(refused, corev1.NamespaceTerminatingCause) {
			return false, refused
		}
		return refused == nil || apierrors.IsAlreadyExists(refused), nil
	})
	if err != nil {
		return fmt.Errorf("the manager deleted revision %s/%s and cannot write it again encrypted, so the history has lost it: %w", old.Namespace, old.Name, cmp.Or(refused, err))
	}
	return nil
}

// recordUnreadable records an event for each wrapper that has revisions encrypted with a lost key.
func (h *History) recordUnreadable(ctx context.Context) error {
	selector, err := selectRevisions(v1alpha1.LabelContent, selection.Exists)
	if err != nil {
		return err
	}
	readable, err := labels.NewRequirement(v1alpha1.LabelContent, selection.NotIn,
		[]string{v1alpha1.ContentPlain, h.Key.Label(revision.Revision{HoldsSecret: true})})
	if err != nil {
		return fmt.Errorf("making the label selector for ControllerRevisions: %w", err)
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("ControllerRevisionList"))
	unreadable := map[corev1.ObjectReference][]string{}
	for {
		if err := h.Live.List(ctx, list, client.MatchingLabelsSelector{Selector: selector.Add(*readable)},
			client.Limit(50*historyPage), client.Continue(list.Continue)); err != nil {
			return fmt.Errorf("listing the ControllerRevisions whose key is lost: %w", err)
		}
		for i := range list.Items {
			if owner, ok := ownerOf(&list.Items[i]); ok {
				unreadable[owner] = append(unreadable[owner], list.Items[i].Name)
			}
		}
		if list.Continue == "" {
			break
		}
	}
	for owner, names := range unreadable {
		slices.Sort(names)
		log.FromContext(ctx).Info("the manager cannot read revisions of a wrapper: the key that encrypted them is lost", "kind", owner.Kind, "namespace", owner.Namespace,
			"name", owner.Name, "revisions", names)
		h.Events.Eventf(&owner, nil, corev1.EventTypeWarning, v1alpha1.ReasonRevisionUnreadable, "Revise",
			"the manager cannot read %d revisions: they were encrypted with another key than the one in Secret %s/%s. Restore that Secret from a backup and "+
				"restart the manager, or do without these revisions. Members are not affected. The revisions: %s",
			len(names), v1alpha1.SystemNamespace, v1alpha1.HistorySecret, strings.Join(names, ", "))
	}
	return nil
}

// selectRevisions returns a label selector for the ControllerRevisions of wrappers. If has is selection.Exists, it selects
// only those with the given label. If has is selection.DoesNotExist, it selects only those without that label.
func selectRevisions(label string, has selection.Operator) (labels.Selector, error) {
	selector := labels.NewSelector()
	for key, operator := range map[string]selection.Operator{v1alpha1.LabelUID: selection.Exists, label: has} {
		requirement, err := labels.NewRequirement(key, operator, nil)
		if err != nil {
			return nil, fmt.Errorf("making the label selector for ControllerRevisions: %w", err)
		}
		selector = selector.Add(*requirement)
	}
	return selector, nil
}

// ownerOf returns the wrapper that owns a revision. It returns false if no ownerReference of the revision names a
// wrapper.
func ownerOf(stored *metav1.PartialObjectMetadata) (corev1.ObjectReference, bool) {
	for _, o := range stored.OwnerReferences {
		if o.APIVersion != v1alpha1.GroupVersion.String() {
			continue
		}
		ref := corev1.ObjectReference{APIVersion: o.APIVersion, Kind: o.Kind, Namespace: stored.Namespace, Name: o.Name, UID: o.UID}
		if o.Kind == string(v1alpha1.KindClusterFederated) {
			ref.Namespace = ""
		}
		return ref, true
	}
	return corev1.ObjectReference{}, false
}
