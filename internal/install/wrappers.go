// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/messages"
	"github.com/fairlead-dev/fairlead/internal/install/manifests"
	"github.com/fairlead-dev/fairlead/internal/join"
	"github.com/fairlead-dev/fairlead/internal/join/steps"
)

// maxNamed is the largest number of wrappers that a message names.
const maxNamed = 5

// readWrappers lists all wrappers and MemberClusters. If the CRD of a kind does not exist, readWrappers returns no
// objects of that kind, and this is not an error.
func readWrappers(ctx context.Context, c client.Reader) (wrappers []v1alpha1.Wrapper, members []v1alpha1.MemberCluster, err error) {
	namespaced, cluster, registry := &v1alpha1.FederatedList{}, &v1alpha1.ClusterFederatedList{}, &v1alpha1.MemberClusterList{}
	for _, list := range []client.ObjectList{namespaced, cluster, registry} {
		if err := c.List(ctx, list); err != nil && !meta.IsNoMatchError(err) && !apierrors.IsNotFound(err) {
			return nil, nil, forbidden(err, "listing wrappers and members")
		}
	}
	for i := range namespaced.Items {
		wrappers = append(wrappers, &namespaced.Items[i])
	}
	for i := range cluster.Items {
		wrappers = append(wrappers, &cluster.Items[i])
	}
	return wrappers, registry.Items, nil
}

// probe returns an error if wrappers or members exist and the webhooks do not answer. The manager then probably does not
// run, and without it wrappers are never deleted and members never unjoined.
func (u *uninstaller) probe(ctx context.Context) error {
	wrappers, members, err := readWrappers(ctx, u.Client)
	if err != nil || len(wrappers)+len(members) == 0 {
		return err
	}
	err = ProbeWebhooks(ctx, u.Client)
	if mayNotProbe(err) {
		return forbidden(err, "asking the webhooks")
	}
	if err != nil {
		return fmt.Errorf("the manager has to delete %d wrappers and unjoin %d members, and its webhooks do not answer: %w. Nothing was removed. "+
			"Repair the host part with `hostctl init`, then run this command again",
			len(wrappers), len(members), err)
	}
	return nil
}

// deleteWrappers sets onDelete: KeepAll in all wrappers, then deletes the wrappers, and waits until they no longer exist.
// It deletes none before all have KeepAll, so that an uninstallation that stops half-way leaves every object on the
// members.
func (u *uninstaller) deleteWrappers(ctx context.Context) error {
	wrappers, _, err := readWrappers(ctx, u.Client)
	if err != nil || len(wrappers) == 0 {
		return err
	}
	step := u.progress.Step("setting onDelete: %s in %s", v1alpha1.KeepAll, messages.Count(len(wrappers), "wrapper"))
	for _, w := range wrappers {
		if err := u.keepAll(ctx, w); client.IgnoreNotFound(err) != nil {
			step.Skip()
			return err
		}
	}
	step.Done()
	step = u.progress.Step("deleting %s; the objects stay on the members", messages.Count(len(wrappers), "wrapper"))
	putBack := map[string]int{}
	for _, w := range wrappers {
		if err := u.deleteKept(ctx, w, putBack); err != nil {
			step.Skip()
			return err
		}
	}
	var left []v1alpha1.Wrapper
	err = wait.PollUntilContextTimeout(ctx, pollEvery, u.opts.Wait, true, func(ctx context.Context) (bool, error) {
		var err error
		if left, _, err = readWrappers(ctx, u.Client); err != nil {
			return false, transient(err)
		}
		step.Update("left: %d", len(left))
		// A GitOps tool may create a wrapper again, or change onDelete back while the wrapper's deletion waits for a
		// member.
		for _, w := range left {
			if w.GetDeletionTimestamp() != nil && w.WrapperSpec().OnDelete == v1alpha1.KeepAll {
				continue
			}
			if err := u.deleteKept(ctx, w, putBack); err != nil {
				return false, transient(err)
			}
		}
		return len(left) == 0, nil
	})
	if err != nil {
		step.Skip()
		if wait.Interrupted(err) && ctx.Err() == nil {
			return stillThere(left)
		}
		return err
	}
	step.Done()
	return nil
}

// keepAll sets onDelete: KeepAll in a wrapper. Afterwards w is the wrapper as the API server stored it.
func (u *uninstaller) keepAll(ctx context.Context, w v1alpha1.Wrapper) error {
	if w.WrapperSpec().OnDelete == v1alpha1.KeepAll {
		return nil
	}
	patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"onDelete":"`+string(v1alpha1.KeepAll)+`"}}`))
	if err := u.Patch(ctx, w, patch, client.FieldOwner(FieldManager)); err != nil {
		return fmt.Errorf("setting onDelete in %s: %w", nameOf(w), err)
	}
	return nil
}

// These constants bound the work on one wrapper.
const (
	maxPutBack   = 5  // how often another client may undo this command's change or deletion of the wrapper
	maxConflicts = 30 // how often the wrapper may change between a read and its deletion, for example because the manager writes its status
)

// deleteKept sets onDelete: KeepAll in a wrapper if necessary, and deletes the wrapper. A GitOps tool may restore the
// earlier onDelete at any moment, and a deletion with that onDelete would delete objects on members. So the deletion has as
// precondition the resourceVersion in which deleteKept read KeepAll. putBack counts, by the wrapper's name, how often
// another client has restored the wrapper.
func (u *uninstaller) deleteKept(ctx context.Context, w v1alpha1.Wrapper, putBack map[string]int) error {
	for range maxConflicts {
		if w.WrapperSpec().OnDelete != v1alpha1.KeepAll {
			if putBack[nameOf(w)]++; putBack[nameOf(w)] > maxPutBack {
				return fmt.Errorf("another client restores %s each time this command changes or deletes it: suspend your GitOps tool first, then run this command again. "+
					"The host part is still there", nameOf(w))
			}
			if err := u.keepAll(ctx, w); err != nil {
				return client.IgnoreNotFound(err)
			}
		}
		err := u.Delete(ctx, w, client.Preconditions{UID: new(w.GetUID()), ResourceVersion: new(w.GetResourceVersion())})
		if !apierrors.IsConflict(err) {
			if client.IgnoreNotFound(err) != nil {
				return fmt.Errorf("deleting %s: %w", nameOf(w), err)
			}
			return nil
		}
		err = u.Get(ctx, client.ObjectKeyFromObject(w), w)
		switch {
		case apierrors.IsNotFound(err):
			return nil
		case err != nil:
			return fmt.Errorf("reading %s again: %w", nameOf(w), err)
		}
	}
	return fmt.Errorf("deleting %s: the wrapper changed %d times between a read and its deletion. Run this command again. The host part is still there", nameOf(w), maxConflicts)
}

// stillThere returns an error that names the wrappers that are still being deleted, each with the message of its condition Ready.
func stillThere(left []v1alpha1.Wrapper) error {
	var lines []string
	for _, w := range left[:min(len(left), maxNamed)] {
		why := "the manager has written no condition Ready"
		for _, c := range w.WrapperStatus().Conditions {
			if c.Type == v1alpha1.ConditionReady {
				why = clean(c.Reason + ": " + c.Message)
			}
		}
		lines = append(lines, fmt.Sprintf("  %s: %s", nameOf(w), why))
	}
	if more := len(left) - maxNamed; more > 0 {
		lines = append(lines, fmt.Sprintf("  and %d more", more))
	}
	return fmt.Errorf("%d wrappers wait for a member; the host part is still there. To stop waiting, release the wrapper (`hostctl approve NAME --release CLUSTER`) "+
		"or forget the member (`hostctl unjoin CLUSTER --forget`). Then run this command again. The waiting wrappers:\n%s", len(left), strings.Join(lines, "\n"))
}

func nameOf(w v1alpha1.Wrapper) string {
	if w.GetNamespace() == "" {
		return "cfed/" + w.GetName()
	}
	return "fed/" + w.GetName() + " in " + w.GetNamespace()
}

// unjoin unjoins every member. The host's manager then removes Fairlead's own objects from the member. The objects of
// wrappers stay there.
func (u *uninstaller) unjoin(ctx context.Context) error {
	_, members, err := readWrappers(ctx, u.Client)
	if err != nil {
		return err
	}
	for i := range members {
		name := members[i].Name
		report := func(s steps.Step) { u.progress.Note("%s", clean(s.String())) }
		if err := join.Unjoin(ctx, u.cfg, nil, join.UnjoinOptions{Name: name, Wait: u.opts.Wait}, report); err != nil {
			return fmt.Errorf("%w. The host part is still there. When this member is unjoined, run this command again", err)
		}
	}
	return nil
}

// removeCRDs removes the host's CRDs, and waits until they no longer exist. With a CRD the API server deletes all objects
// of its kind. At this point only Approvals and MemberReports can be left. If there are wrappers or members again,
// removeCRDs returns an error and removes nothing.
func (u *uninstaller) removeCRDs(ctx context.Context) error {
	if wrappers, members, err := readWrappers(ctx, u.Client); err != nil || len(wrappers)+len(members) > 0 {
		if err == nil {
			err = fmt.Errorf("%d wrappers and %d members were created meanwhile, so the CRDs stay: run this command again", len(wrappers), len(members))
		}
		return err
	}
	var crds []client.Object
	for _, name := range manifests.CRDs() {
		crds = append(crds, &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	if err := u.remove(ctx, "CRDs of the host", crds); err != nil {
		return err
	}
	return u.awaitGone(ctx, crds...)
}

// removeNamespace removes the namespace with all credentials and keys. On a cluster that is a member as well, it removes
// only the host's own objects in the namespace.
func (u *uninstaller) removeNamespace(ctx context.Context) error {
	membership := &v1alpha1.Membership{}
	err := u.Get(ctx, client.ObjectKey{Name: v1alpha1.MembershipName}, membership)
	if err != nil && !apierrors.IsNotFound(err) && !meta.IsNoMatchError(err) {
		return fmt.Errorf("looking for a Membership: %w", err)
	}
	if err != nil {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: systemNamespace}}
		if err := u.remove(ctx, "namespace "+systemNamespace+" with the keys", []client.Object{namespace}); err != nil {
			return err
		}
		return u.awaitGone(ctx, namespace)
	}
	u.progress.Note("the cluster is a member of %s, so namespace %s stays", clean(membership.Spec.Host.Name), systemNamespace)
	objects := []client.Object{&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: recordName}}}
	for _, name := range []string{v1alpha1.SealSecret, v1alpha1.HistorySecret, "webhook.tls", "webhook.ca"} {
		objects = append(objects, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: name}})
	}
	return u.remove(ctx, "keys of the host", objects)
}

func (u *uninstaller) awaitGone(ctx context.Context, objects ...client.Object) error {
	for _, obj := range objects {
		err := wait.PollUntilContextTimeout(ctx, pollEvery, u.opts.Wait, true, func(ctx context.Context) (bool, error) {
			err := u.Get(ctx, client.ObjectKeyFromObject(obj), obj)
			return apierrors.IsNotFound(err), transient(client.IgnoreNotFound(err))
		})
		switch {
		case wait.Interrupted(err) && ctx.Err() == nil:
			return fmt.Errorf("%s is still being deleted after %s. Look at its finalizers, then run `hostctl uninstall` again: %w", describeObject(obj), u.opts.Wait, err)
		case err != nil:
			return fmt.Errorf("waiting until %s is gone: %w", describeObject(obj), err)
		}
	}
	return nil
}
