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

// NotOursError is the error when a cluster is the member of another host. This host must remove nothing on it.
type NotOursError struct {
	Owner v1alpha1.MembershipSpec
}

func (e *NotOursError) Error() string {
	return fmt.Sprintf("the cluster is the member %s of host %q (uid %s)", e.Owner.ClusterName, e.Owner.Host.Name, e.Owner.Host.UID)
}

// Withdraw removes Fairlead's own objects from a member: Clear, then Sever. Workloads stay, with their marks. It can
// run again after any failure but one, see Sever. The report may be nil.
func Withdraw(ctx context.Context, member client.Client, host types.UID, name string, report Reporter) error {
	if err := Clear(ctx, member, host, name, report); err != nil {
		return err
	}
	return Sever(ctx, member, host, name, report)
}

// Clear removes all objects of Fairlead from a member that carry no right of the host: the collector, Deliveries, Membership, CRDs.
// It can run any number of times. On a member of another host, or of this one under another name, it removes nothing
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

// ownMembership reads the Membership of a member that is to be left, nil if there is none. A Membership of another
// host, or of this one under another name, is a *NotOursError.
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

// clearMembership deletes exactly the Membership that it has read: another host may be taking the member over.
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

// Sever deletes the host's account on a member after Clear. A refusal counts as done, because a Sever that was killed
// after the deletion is refused when it runs again. So call it only after Clear has finished, with the same account.
// Another host may have joined the member meanwhile; that host's account has the same name. Sever then leaves the
// member alone and returns a *NotOursError.
func Sever(ctx context.Context, member client.Client, host types.UID, name string, report Reporter) error {
	if _, err := ownMembership(ctx, member, host, name); err != nil && !refused(err) {
		return fmt.Errorf("withdrawing from member %s: %w", name, err)
	}
	last, err := finalDeletion(ctx, member)
	if err != nil {
		return fmt.Errorf("withdrawing from member %s: %w", name, err)
	}
	// In this order: the second is allowed by a Role that the first does not touch.
	for _, obj := range []client.Object{
		named(rbacv1.SchemeGroupVersion.WithKind("ClusterRole"), "", HostAccount),
		last,
	} {
		if err := member.Delete(ctx, obj); err != nil && !absent(err) && !refused(err) {
			return fmt.Errorf("withdrawing from member %s: removing %s: %w", name, describe(obj), err)
		}
		tell(report, Removed, "%s, and what belongs to it", describe(obj))
	}
	return nil
}

// finalDeletion is the object whose deletion removes the rest of fairlead-system. It is the namespace if join created it
// and the cluster is not a host. Otherwise it is the service account.
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
	return nil, fmt.Errorf("asking whether it is a host: %w", err)
}

// refused reports whether the account is gone, or has lost its rights.
func refused(err error) bool { return apierrors.IsUnauthorized(err) || apierrors.IsForbidden(err) }

// AnnotationCleared is an annotation of the previous version. That version set it on a MemberCluster after Clear had
// finished on the member. Anyone who can write MemberClusters can set it, so it proves nothing; see WasCleared.
const AnnotationCleared = v1alpha1.Group + "/cleared"

// WasCleared reports whether Clear has finished on a member that is being left. If so, neither a refusal there nor
// missing credentials are a reason to wait. The previous version noted it as an annotation. The annotation counts
// only when the member cannot be reached any more. It then permits no more than removing the finalizer does, and the
// same people may remove that. When the member can be reached, Clear runs again.
func WasCleared(m *v1alpha1.MemberCluster) bool {
	return m.Status.Leaving == v1alpha1.LeavingCleared || m.Annotations[AnnotationCleared] != ""
}

// Leave ends a registration that is being deleted: it withdraws from the member, then releases the MemberCluster. It
// can run again after any failure, also after a kill. Once the status of the MemberCluster says that the member is
// cleared, Leave waits neither for a member that refuses the host nor for credentials that are gone. member may then
// be nil.
func Leave(ctx context.Context, host client.Client, m *v1alpha1.MemberCluster, member client.Client, hostUID types.UID, report Reporter) error {
	var notOurs *NotOursError
	if member == nil && !WasCleared(m) {
		return fmt.Errorf("leaving member %s: there is no connection to it", m.Name)
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
			return fmt.Errorf("leaving member %s: noting that it is cleared: %w", m.Name, err)
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

// releaseTakenOver releases a MemberCluster whose member belongs to another host now.
func releaseTakenOver(ctx context.Context, host client.Client, m *v1alpha1.MemberCluster, owner *NotOursError, report Reporter) error {
	tell(report, Noted, "member %s: nothing is removed there: %s", m.Name, owner)
	return Release(ctx, host, m, report)
}

// Release removes the Secret of a MemberCluster that is being deleted, then its finalizer. It does nothing on the
// member. A Secret with the credentials of another member stays, even if the MemberCluster refers to it.
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
		// The manager may have written its status meanwhile.
		*m = v1alpha1.MemberCluster{}
		if again := host.Get(ctx, client.ObjectKeyFromObject(before), m); again != nil || m.UID != before.UID {
			*m = *before
			return again
		}
		return err
	})
	return wrapf(client.IgnoreNotFound(err), "releasing MemberCluster %s", m.Name)
}

// dropSecrets removes a member's credentials: the Secrets that join created under the member's name, and the Secret
// that its MemberCluster refers to. Secrets of other members stay.
func dropSecrets(ctx context.Context, host client.Client, cluster, ref string, report Reporter) error {
	for _, name := range sorted([]string{cluster, ref}) {
		if err := dropSecret(ctx, host, cluster, name, "", report); err != nil {
			return fmt.Errorf("removing Secret %s/%s: %w", v1alpha1.SystemNamespace, name, err)
		}
	}
	return nil
}

// dropSecret removes one Secret with a member's credentials. If uid is not empty, a Secret of another uid stays.
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
		// The precondition: a Secret that was written meanwhile may be bound to another member, so it is read again.
		err := host.Delete(ctx, secret, client.Preconditions{UID: &secret.UID, ResourceVersion: &secret.ResourceVersion})
		if client.IgnoreNotFound(err) != nil {
			return err
		}
		tell(report, Removed, "host: Secret %s/%s", v1alpha1.SystemNamespace, name)
		return nil
	})
}

// named is an object with metadata only, for clients whose scheme may not know the kind.
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
