// SPDX-License-Identifier: Apache-2.0

package join

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/credentials"
	"github.com/fairlead-dev/fairlead/internal/plain"
)

// NotOursError means that a cluster is a member of another host, or a member of this host under another name. This host
// must not remove anything on the cluster.
type NotOursError struct {
	Owner v1alpha1.MembershipSpec
}

func (e *NotOursError) Error() string {
	return fmt.Sprintf("the cluster is member %s of host %q (uid %s)", e.Owner.ClusterName, e.Owner.Host.Name, e.Owner.Host.UID)
}

// Withdraw removes Fairlead's own objects from a member: it calls Clear, then Sever. Workloads stay, with their marks.
// After a failure the caller can call Withdraw again, unless member uses the host's account and Sever has deleted that
// account; for that case there is Leave. report may be nil.
func Withdraw(ctx context.Context, member client.Client, host types.UID, name string, report Reporter) error {
	if err := Clear(ctx, member, host, name, report); err != nil {
		return err
	}
	return Sever(ctx, member, host, name, report)
}

// Clear removes from a member the objects of Fairlead that give the host no rights: the collector, Deliveries, Membership,
// CRDs. It can run any number of times. On a member of another host, or of this host under another name, it removes nothing
// and returns a *NotOursError.
func Clear(ctx context.Context, member client.Client, host types.UID, name string, report Reporter) error {
	if _, err := ownMembership(ctx, member, host, name); err != nil {
		return fmt.Errorf("withdrawing from member %s: %w", name, err)
	}
	if err := clearCollector(ctx, member, name, report); err != nil {
		return fmt.Errorf("withdrawing from member %s: %w", name, err)
	}
	err := member.DeleteAllOf(ctx, &v1alpha1.Delivery{}, client.InNamespace(v1alpha1.SystemNamespace))
	if err != nil && !absent(err) {
		return fmt.Errorf("withdrawing from member %s: removing its Deliveries: %w", name, err)
	}
	tell(report, Removed, "member %s: Deliveries", name)
	if err := clearMembership(ctx, member, host, name, report); err != nil {
		return fmt.Errorf("withdrawing from member %s: %w", name, err)
	}
	for _, obj := range []client.Object{
		named(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"), "", crdDeliveries),
		named(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"), "", crdMemberships),
	} {
		if err := member.Delete(ctx, obj); err != nil && !absent(err) {
			return fmt.Errorf("withdrawing from member %s: removing %s: %w", name, describe(obj), err)
		}
		tell(report, Removed, "member %s: %s", name, describe(obj))
	}
	return nil
}

// ownMembership reads the Membership of a member before this host leaves the member. It returns nil if there is no Membership. It
// returns a *NotOursError if the Membership names another host, or names this host with another name of the member.
func ownMembership(ctx context.Context, member client.Client, host types.UID, name string) (*v1alpha1.Membership, error) {
	m := &v1alpha1.Membership{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.MembershipName}}
	err := member.Get(ctx, client.ObjectKeyFromObject(m), m)
	switch {
	case absent(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading its Membership: %w", err)
	}
	plain.Membership(m)
	if m.Spec.Host.UID != host || m.Spec.ClusterName != name {
		return nil, &NotOursError{Owner: m.Spec}
	}
	return m, nil
}

// clearMembership deletes the Membership only in the resourceVersion that it has read. If another host takes the member
// over at the same time and changes the Membership, the deletion fails.
func clearMembership(ctx context.Context, member client.Client, host types.UID, name string, report Reporter) error {
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		m, err := ownMembership(ctx, member, host, name)
		if m == nil || err != nil {
			return err
		}
		return client.IgnoreNotFound(member.Delete(ctx, m, client.Preconditions{UID: &m.UID, ResourceVersion: &m.ResourceVersion}))
	})
	if err != nil {
		return fmt.Errorf("removing the Membership: %w", err)
	}
	tell(report, Removed, "member %s: Membership %s", name, v1alpha1.MembershipName)
	return nil
}

// Sever deletes the host's account on a member. If the member refuses the host's credentials, Sever counts that as success,
// because an earlier Sever may have been killed after it had deleted the account. So a caller may call Sever only after
// Clear has finished with the same credentials.
//
// If another host has joined the member meanwhile, the account of the same name belongs to that host. Sever then removes
// nothing and returns a *NotOursError.
func Sever(ctx context.Context, member client.Client, host types.UID, name string, report Reporter) error {
	if _, err := ownMembership(ctx, member, host, name); err != nil && !refused(err) {
		return fmt.Errorf("withdrawing from member %s: %w", name, err)
	}
	last, err := finalDeletion(ctx, member)
	if err != nil {
		return fmt.Errorf("withdrawing from member %s: %w", name, err)
	}
	// The order matters: for the second deletion the host needs its Role in fairlead-system, which the first deletion does
	// not remove.
	for _, obj := range []client.Object{
		named(rbacv1.SchemeGroupVersion.WithKind("ClusterRole"), "", HostAccount),
		last,
	} {
		if err := member.Delete(ctx, obj); err != nil && !absent(err) && !refused(err) {
			return fmt.Errorf("withdrawing from member %s: removing %s: %w", name, describe(obj), err)
		}
		tell(report, Removed, "%s, and the objects that it owns", describe(obj))
	}
	return nil
}

// finalDeletion returns the object that Sever deletes last. Kubernetes then deletes the remaining objects of Fairlead in
// fairlead-system, which that object owns or contains. It is the namespace, if a join created the namespace and the cluster
// is not a host. Otherwise it is the host's service account.
func finalDeletion(ctx context.Context, member client.Client) (client.Object, error) {
	account := named(corev1.SchemeGroupVersion.WithKind("ServiceAccount"), v1alpha1.SystemNamespace, HostAccount)
	namespace := named(corev1.SchemeGroupVersion.WithKind("Namespace"), "", v1alpha1.SystemNamespace)
	err := member.Get(ctx, client.ObjectKeyFromObject(namespace), namespace)
	switch {
	case absent(err) || refused(err):
		return account, nil
	case err != nil:
		return nil, fmt.Errorf("reading the namespace %s: %w", v1alpha1.SystemNamespace, err)
	case namespace.Labels[v1alpha1.LabelMade] != "true":
		return account, nil
	}
	_, err = member.RESTMapper().RESTMapping(schema.GroupKind{Group: v1alpha1.Group, Kind: "MemberCluster"}, v1alpha1.GroupVersion.Version)
	switch {
	case err == nil:
		return account, nil
	case meta.IsNoMatchError(err) || refused(err):
		return namespace, nil
	}
	return nil, fmt.Errorf("asking whether the cluster is a host: %w", err)
}

// refused reports whether the API server refused the credentials or forbade the request. Either the host's account was
// deleted, or it has lost its rights.
func refused(err error) bool { return apierrors.IsUnauthorized(err) || apierrors.IsForbidden(err) }

// AnnotationCleared is an annotation that the previous version set on a MemberCluster after Clear had finished on the
// member. Anyone who can write MemberClusters can set it, so it proves nothing; WasCleared explains why this does no harm.
const AnnotationCleared = v1alpha1.Group + "/cleared"

// WasCleared reports whether Clear has finished on a member that this host is leaving. The manager then completes the
// deletion even if the member refuses the host's credentials or the host no longer has them.
//
// The previous version recorded this as an annotation, which anyone who can write MemberClusters can forge. A forged
// annotation has an effect only while the member cannot be reached or refuses the host; in all other cases Clear runs
// again. It gives no new power: the same people could remove the finalizer instead.
func WasCleared(m *v1alpha1.MemberCluster) bool {
	return m.Status.Leaving == v1alpha1.LeavingCleared || m.Annotations[AnnotationCleared] != ""
}

// Leave completes the deletion of a MemberCluster: it withdraws from the member, then releases the MemberCluster. The
// caller can call Leave again after any failure, even after the process was killed. If Clear has finished (see WasCleared),
// Leave goes on even if the member refuses the host's credentials, and member may be nil because the host no longer has
// them.
func Leave(ctx context.Context, host client.Client, m *v1alpha1.MemberCluster, member client.Client, hostUID types.UID, report Reporter) error {
	var notOurs *NotOursError
	if member == nil && !WasCleared(m) {
		return fmt.Errorf("leaving member %s: the host has no connection to it", m.Name)
	}
	if member != nil && m.Status.Leaving != v1alpha1.LeavingCleared {
		err := Clear(ctx, member, hostUID, m.Name, report)
		switch {
		case errors.As(err, &notOurs):
			return releaseTakenOver(ctx, host, m, notOurs, report)
		case err != nil && (!refused(err) || !WasCleared(m)):
			return err
		}
		before := m.DeepCopy()
		m.Status.Leaving = v1alpha1.LeavingCleared
		if err := host.Status().Patch(ctx, m, client.MergeFrom(before)); err != nil {
			return fmt.Errorf("leaving member %s: recording that it is cleared: %w", m.Name, err)
		}
	}
	if member != nil {
		err := Sever(ctx, member, hostUID, m.Name, report)
		if errors.As(err, &notOurs) {
			return releaseTakenOver(ctx, host, m, notOurs, report)
		}
		if err != nil {
			return fmt.Errorf("leaving member %s: %w", m.Name, err)
		}
	}
	return Release(ctx, host, m, report)
}

// releaseTakenOver releases a MemberCluster whose member now belongs to another host. It removes nothing on the member.
func releaseTakenOver(ctx context.Context, host client.Client, m *v1alpha1.MemberCluster, owner *NotOursError, report Reporter) error {
	tell(report, Noted, "member %s: nothing is removed on it: %s", m.Name, owner)
	return Release(ctx, host, m, report)
}

// Release removes the Secret of a MemberCluster that is being deleted, then the MemberCluster's finalizer. It writes
// nothing to the member. It does not remove a Secret with the credentials of another member, even if the MemberCluster
// refers to it.
func Release(ctx context.Context, host client.Client, m *v1alpha1.MemberCluster, report Reporter) error {
	if err := dropSecrets(ctx, host, m.Name, m.Spec.CredentialsRef.Name, report); err != nil {
		return fmt.Errorf("releasing MemberCluster %s: %w", m.Name, err)
	}
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		before := m.DeepCopy()
		if !controllerutil.RemoveFinalizer(m, v1alpha1.Finalizer) {
			return nil
		}
		err := host.Patch(ctx, m, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
		if !apierrors.IsConflict(err) {
			return err
		}
		// Another client, for example the manager, may have written the MemberCluster meanwhile. The next try uses what is
		// there now.
		*m = v1alpha1.MemberCluster{}
		if again := host.Get(ctx, client.ObjectKeyFromObject(before), m); again != nil || m.UID != before.UID {
			*m = *before
			return again
		}
		return err
	})
	return wrapf(client.IgnoreNotFound(err), "releasing MemberCluster %s", m.Name)
}

// dropSecrets removes a member's credentials from the host: the Secret that a join created under the member's name, and the
// Secret ref to which the MemberCluster refers. Secrets with the credentials of other members stay.
func dropSecrets(ctx context.Context, host client.Client, cluster, ref string, report Reporter) error {
	for _, name := range sorted([]string{cluster, ref}) {
		if err := dropSecret(ctx, host, cluster, name, "", report); err != nil {
			return fmt.Errorf("removing Secret %s/%s: %w", v1alpha1.SystemNamespace, name, err)
		}
	}
	return nil
}

// dropSecret removes one Secret with a member's credentials. If uid is not empty, it removes the Secret only if the Secret
// has this uid.
func dropSecret(ctx context.Context, host client.Client, cluster, name string, uid types.UID, report Reporter) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		secret := &corev1.Secret{}
		switch err := host.Get(ctx, types.NamespacedName{Namespace: v1alpha1.SystemNamespace, Name: name}, secret); {
		case absent(err):
			return nil
		case err != nil:
			return err
		case uid != "" && secret.UID != uid:
			return nil
		case !credentials.IsFor(secret, cluster):
			tell(report, Noted, "host: Secret %s/%s stays: it does not hold the credentials of %s", v1alpha1.SystemNamespace, name, cluster)
			return nil
		}
		// Another client may have written the Secret since this read, and may have bound it to another member. The
		// precondition then makes the deletion fail with a conflict, and dropSecret reads the Secret again.
		err := host.Delete(ctx, secret, client.Preconditions{UID: &secret.UID, ResourceVersion: &secret.ResourceVersion})
		if client.IgnoreNotFound(err) != nil {
			return err
		}
		tell(report, Removed, "host: Secret %s/%s", v1alpha1.SystemNamespace, name)
		return nil
	})
}

// named returns an object with metadata only, for clients whose scheme may not have the kind.
func named(gvk schema.GroupVersionKind, namespace, name string) *metav1.PartialObjectMetadata {
	obj := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	obj.SetGroupVersionKind(gvk)
	return obj
}

func tell(report Reporter, o Outcome, format string, args ...any) {
	if report != nil {
		report(Step{Outcome: o, What: fmt.Sprintf(format, args...)})
	}
}
