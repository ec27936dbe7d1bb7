// SPDX-License-Identifier: Apache-2.0

package join

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/credentials"
	"github.com/fairlead-dev/fairlead/internal/join/cluster"
	"github.com/fairlead-dev/fairlead/internal/join/steps"
)

// AnnotationCleared is an annotation that the previous version set on a MemberCluster after Clear had finished on the
// member. Anyone who can write MemberClusters can set it, so it proves nothing; WasCleared explains why this does no harm.
const AnnotationCleared = v1alpha1.Group + "/cleared"

// WasCleared reports whether Clear has finished on a member that this host is leaving. The manager then completes the
// deletion even if the member refuses the host's credentials or the host no longer has them.
//
// The previous version recorded this as an annotation, which anyone who can write MemberClusters can forge. A forged
// annotation has an effect only while the member cannot be reached or refuses the host; in all other cases Clear runs
// again. A forged annotation gives nobody new power: the same people could remove the finalizer instead.
func WasCleared(m *v1alpha1.MemberCluster) bool {
	return m.Status.Leaving == v1alpha1.LeavingCleared || m.Annotations[AnnotationCleared] != ""
}

// Leave completes the deletion of a MemberCluster: it withdraws from the member, then releases the MemberCluster. The
// caller can call Leave again after any failure, even after the process was killed. The argument member is nil if the host
// no longer has the credentials. If Clear has finished (see WasCleared), Leave goes on without the credentials, and also if
// the member refuses them.
func Leave(ctx context.Context, host client.Client, m *v1alpha1.MemberCluster, member client.Client, hostUID types.UID, report steps.Reporter) error {
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
func releaseTakenOver(ctx context.Context, host client.Client, m *v1alpha1.MemberCluster, owner *NotOursError, report steps.Reporter) error {
	tell(report, steps.Noted, "member %s: nothing is removed on it: %s", m.Name, owner)
	return Release(ctx, host, m, report)
}

// Release removes the Secret of a MemberCluster that is being deleted, then the MemberCluster's finalizer. It writes
// nothing to the member. It does not remove a Secret with the credentials of another member, even if the MemberCluster
// refers to it.
func Release(ctx context.Context, host client.Client, m *v1alpha1.MemberCluster, report steps.Reporter) error {
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
		// Another client, for example the manager, may have written the MemberCluster meanwhile. The next try begins with the
		// MemberCluster as it is now.
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
// Secret to which the MemberCluster refers (ref). Secrets with the credentials of other members stay.
func dropSecrets(ctx context.Context, host client.Client, member, ref string, report steps.Reporter) error {
	for _, name := range sorted([]string{member, ref}) {
		if err := dropSecret(ctx, host, member, name, "", report); err != nil {
			return fmt.Errorf("removing Secret %s/%s: %w", v1alpha1.SystemNamespace, name, err)
		}
	}
	return nil
}

// dropSecret removes one Secret with a member's credentials. If uid is not empty, it removes the Secret only if the Secret
// has this uid.
func dropSecret(ctx context.Context, host client.Client, member, name string, uid types.UID, report steps.Reporter) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		secret := &corev1.Secret{}
		switch err := host.Get(ctx, types.NamespacedName{Namespace: v1alpha1.SystemNamespace, Name: name}, secret); {
		case cluster.Absent(err):
			return nil
		case err != nil:
			return err
		case uid != "" && secret.UID != uid:
			return nil
		case !credentials.IsFor(secret, member):
			tell(report, steps.Noted, "host: Secret %s/%s stays: it does not hold the credentials of %s", v1alpha1.SystemNamespace, name, member)
			return nil
		}
		// Another client may have written the Secret since this read, and may have bound it to another member. The
		// precondition then makes the deletion fail with a conflict, and dropSecret reads the Secret again.
		err := host.Delete(ctx, secret, client.Preconditions{UID: &secret.UID, ResourceVersion: &secret.ResourceVersion})
		if client.IgnoreNotFound(err) != nil {
			return err
		}
		tell(report, steps.Removed, "host: Secret %s/%s", v1alpha1.SystemNamespace, name)
		return nil
	})
}

func sorted(names []string) []string { return slices.Compact(slices.Sorted(slices.Values(names))) }
