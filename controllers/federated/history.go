// SPDX-License-Identifier: Apache-2.0

package federated

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
	"github.com/fairlead-dev/fairlead/federate/revision"
)

const (
	// historyPage is how many revisions the manager reads in one page: each may be as large as a wrapper.
	historyPage = 10
	// historyRetry is the pause after a failure before the rest is tried again.
	historyRetry = 30 * time.Second
)

// History goes through the revisions that earlier processes wrote. It encrypts those that an earlier version of Fairlead
// wrote with a Secret in clear, and records an event for those whose key is lost. No member depends on either.
type History struct {
	client client.Client
	live   client.Reader
	events events.EventRecorder
	key    *revision.HistoryKey
}

// NewHistory makes the history of all wrappers.
func NewHistory(mgr ctrl.Manager, key *revision.HistoryKey) *History {
	return &History{client: mgr.GetClient(), live: mgr.GetAPIReader(), key: key,
		events: boundedRecorder{mgr.GetEventRecorder("fairlead")}}
}

// Start implements manager.Runnable. It returns when both are done.
func (h *History) Start(ctx context.Context) error {
	for _, step := range []func(context.Context) error{h.recordUnreadable, h.encryptPlain} {
		_ = wait.PollUntilContextCancel(ctx, historyRetry, true, func(ctx context.Context) (bool, error) {
			err := step(ctx)
			if err != nil {
				log.FromContext(ctx).Error(err, "checking the revisions of earlier processes; trying again")
			}
			return err == nil, nil
		})
	}
	return nil
}

// encryptPlain replaces revisions that hold a Secret in clear. They keep their names, since Deliveries and statuses
// name them. Those that hold none are left as they are.
func (h *History) encryptPlain(ctx context.Context) error {
	selector, err := revisions(v1alpha1.LabelContent, selection.DoesNotExist)
	if err != nil {
		return err
	}
	var failed []error
	list := &appsv1.ControllerRevisionList{}
	for {
		if err := h.live.List(ctx, list, client.MatchingLabelsSelector{Selector: selector},
			client.Limit(historyPage), client.Continue(list.Continue)); err != nil {
			return errors.Join(append(failed, fmt.Errorf("listing the revisions of earlier processes: %w", err))...)
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

// encrypt replaces one revision if it holds a Secret. Its content cannot be changed in place. A manager that dies between
// the two writes loses this one revision of the history.
func (h *History) encrypt(ctx context.Context, old *appsv1.ControllerRevision) error {
	uid := types.UID(old.Labels[v1alpha1.LabelUID])
	decoded, err := h.key.Decode(old.Data.Raw, uid, old.Name)
	if err != nil {
		log.FromContext(ctx).Error(err, "a revision cannot be read", "namespace", old.Namespace)
		return nil // trying again does not help
	}
	if !decoded.HoldsSecret {
		return nil
	}
	replaced, err := h.key.Encode(decoded, uid, old.Name)
	if err != nil {
		return fmt.Errorf("encrypting revision %s/%s: %w", old.Namespace, old.Name, err)
	}
	made := &appsv1.ControllerRevision{Revision: old.Revision}
	made.Namespace, made.Name, made.OwnerReferences = old.Namespace, old.Name, old.OwnerReferences
	made.Labels = map[string]string{v1alpha1.LabelUID: string(uid), v1alpha1.LabelContent: h.key.Label(decoded)}
	made.Data.Raw = replaced
	// A dry run finds out whether the API server accepts the new one, while the old one still exists.
	rehearsed := made.DeepCopy()
	rehearsed.Name, rehearsed.GenerateName = "", "fairlead-rehearsal-"
	if err := h.client.Create(ctx, rehearsed, client.DryRunAll); err != nil {
		return fmt.Errorf("trying to encrypt revision %s/%s, which holds a Secret in plain text: %w", old.Namespace, old.Name, err)
	}
	err = h.client.Delete(ctx, old, client.Preconditions{UID: &old.UID})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("replacing revision %s/%s, which holds a Secret in plain text: %w", old.Namespace, old.Name, err)
	}
	// Only this process has the content now. It tries until the API server accepts it, or the namespace goes.
	var refused error
	err = wait.PollUntilContextCancel(ctx, time.Second, true, func(ctx context.Context) (bool, error) {
		refused = h.client.Create(ctx, made.DeepCopy())
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

// recordUnreadable makes an event for each wrapper that has revisions encrypted with a lost key.
func (h *History) recordUnreadable(ctx context.Context) error {
	selector, err := revisions(v1alpha1.LabelContent, selection.Exists)
	if err != nil {
		return err
	}
	readable, err := labels.NewRequirement(v1alpha1.LabelContent, selection.NotIn,
		[]string{v1alpha1.ContentPlain, h.key.Label(revision.Revision{HoldsSecret: true})})
	if err != nil {
		return fmt.Errorf("selecting revisions: %w", err)
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("ControllerRevisionList"))
	unreadable := map[corev1.ObjectReference][]string{}
	for {
		if err := h.live.List(ctx, list, client.MatchingLabelsSelector{Selector: selector.Add(*readable)},
			client.Limit(50*historyPage), client.Continue(list.Continue)); err != nil {
			return fmt.Errorf("listing revisions that cannot be read: %w", err)
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
		log.FromContext(ctx).Info("revisions cannot be read: their key is lost", "kind", owner.Kind, "namespace", owner.Namespace,
			"name", owner.Name, "revisions", names)
		h.events.Eventf(&owner, nil, corev1.EventTypeWarning, v1alpha1.ReasonRevisionUnreadable, "Revise",
			"%d revisions cannot be read: they were encrypted with another key than the one in Secret %s/%s. Restore that Secret from a backup and "+
				"restart the manager, or do without them. Members are not affected: %s", len(names), v1alpha1.SystemNamespace, v1alpha1.HistorySecret, strings.Join(names, ", "))
	}
	return nil
}

// revisions selects the ControllerRevisions of wrappers that have, or lack, a label.
func revisions(label string, has selection.Operator) (labels.Selector, error) {
	selector := labels.NewSelector()
	for key, operator := range map[string]selection.Operator{v1alpha1.LabelUID: selection.Exists, label: has} {
		requirement, err := labels.NewRequirement(key, operator, nil)
		if err != nil {
			return nil, fmt.Errorf("selecting revisions: %w", err)
		}
		selector = selector.Add(*requirement)
	}
	return selector, nil
}

// ownerOf is the wrapper that owns a revision.
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
