// SPDX-License-Identifier: Apache-2.0

package join

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/join/cluster"
	"github.com/fairlead-dev/fairlead/internal/join/membercollector"
	"github.com/fairlead-dev/fairlead/internal/join/permissions"
	"github.com/fairlead-dev/fairlead/internal/join/steps"
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
// After a failure the caller can call Withdraw again. But if the client member uses the host's account, and Sever has
// deleted that account, Withdraw fails each time; then call Leave. report may be nil.
func Withdraw(ctx context.Context, member client.Client, host types.UID, name string, report steps.Reporter) error {
	if err := Clear(ctx, member, host, name, report); err != nil {
		return err
	}
	return Sever(ctx, member, host, name, report)
}

// Clear removes from a member the objects of Fairlead that give the host no rights: the collector, Deliveries, Membership,
// CRDs. It can run any number of times. On a member of another host, or of this host under another name, it removes nothing
// and returns a *NotOursError.
func Clear(ctx context.Context, member client.Client, host types.UID, name string, report steps.Reporter) error {
	if _, err := ownMembership(ctx, member, host, name); err != nil {
		return fmt.Errorf("withdrawing from member %s: %w", name, err)
	}
	if err := clearCollector(ctx, member, name, report); err != nil {
		return fmt.Errorf("withdrawing from member %s: %w", name, err)
	}
	err := member.DeleteAllOf(ctx, &v1alpha1.Delivery{}, client.InNamespace(v1alpha1.SystemNamespace))
	if err != nil && !cluster.Absent(err) {
		return fmt.Errorf("withdrawing from member %s: removing its Deliveries: %w", name, err)
	}
	tell(report, steps.Removed, "member %s: Deliveries", name)
	if err := clearMembership(ctx, member, host, name, report); err != nil {
		return fmt.Errorf("withdrawing from member %s: %w", name, err)
	}
	for _, obj := range []client.Object{
		named(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"), "", permissions.CRDDeliveries),
		named(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"), "", permissions.CRDMemberships),
	} {
		if err := member.Delete(ctx, obj); err != nil && !cluster.Absent(err) {
			return fmt.Errorf("withdrawing from member %s: removing %s: %w", name, cluster.Describe(obj), err)
		}
		tell(report, steps.Removed, "member %s: %s", name, cluster.Describe(obj))
	}
	return nil
}

// ownMembership reads the Membership of a member before this host leaves the member. It returns nil if there is no Membership. It
// returns a *NotOursError if the Membership names another host, or names this host with another name of the member.
func ownMembership(ctx context.Context, member client.Client, host types.UID, name string) (*v1alpha1.Membership, error) {
	m := &v1alpha1.Membership{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.MembershipName}}
	err := member.Get(ctx, client.ObjectKeyFromObject(m), m)
	switch {
	case cluster.Absent(err):
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

// clearCollector removes the collector's Deployment that a join installed on the member. If the API server forbids the
// request, clearCollector returns nil: the host has this right only on members whose collector a join installed. If the
// Deployment stays, the member's garbage collector deletes it after the collector's account, which owns it.
func clearCollector(ctx context.Context, member client.Client, name string, report steps.Reporter) error {
	obj := named(appsv1.SchemeGroupVersion.WithKind("Deployment"), v1alpha1.SystemNamespace, membercollector.Name)
	err := member.Get(ctx, client.ObjectKeyFromObject(obj), obj)
	switch {
	case cluster.Absent(err) || refused(err):
		return nil
	case err != nil:
		return fmt.Errorf("reading %s: %w", cluster.Describe(obj), err)
	case !membercollector.IsOurs(obj):
		return nil
	}
	if err := member.Delete(ctx, obj, client.Preconditions{UID: ptr.To(obj.GetUID())}); err != nil && !cluster.Absent(err) && !refused(err) {
		return fmt.Errorf("removing %s: %w", cluster.Describe(obj), err)
	}
	tell(report, steps.Removed, "member %s: collector", name)
	return nil
}

// clearMembership deletes the Membership only in the resourceVersion that it has read. If another host takes the member
// over at the same time and changes the Membership, the deletion fails.
func clearMembership(ctx context.Context, member client.Client, host types.UID, name string, report steps.Reporter) error {
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
	tell(report, steps.Removed, "member %s: Membership %s", name, v1alpha1.MembershipName)
	return nil
}

// Sever deletes the host's account on a member. If the member refuses the host's credentials, Sever counts that as success,
// because an earlier Sever may have been killed after it had deleted the account. So a caller may call Sever only after
// Clear has finished with the same credentials.
//
// If another host has joined the member meanwhile, the account of the same name belongs to that host. Sever then removes
// nothing and returns a *NotOursError.
func Sever(ctx context.Context, member client.Client, host types.UID, name string, report steps.Reporter) error {
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
		named(rbacv1.SchemeGroupVersion.WithKind("ClusterRole"), "", permissions.HostAccount),
		last,
	} {
		if err := member.Delete(ctx, obj); err != nil && !cluster.Absent(err) && !refused(err) {
			return fmt.Errorf("withdrawing from member %s: removing %s: %w", name, cluster.Describe(obj), err)
		}
		if report != nil {
			report(steps.Step{Outcome: steps.Removed, What: fmt.Sprintf("member %s: %s", name, cluster.Describe(obj)), Note: "with the objects that it owns"})
		}
	}
	return nil
}

// finalDeletion returns the object that Sever deletes last. Kubernetes then deletes the remaining objects of Fairlead in
// fairlead-system, which that object owns or contains. It is the namespace, if a join created the namespace and the cluster
// is not a host. Otherwise it is the host's service account.
func finalDeletion(ctx context.Context, member client.Client) (client.Object, error) {
	account := named(corev1.SchemeGroupVersion.WithKind("ServiceAccount"), v1alpha1.SystemNamespace, permissions.HostAccount)
	namespace := named(corev1.SchemeGroupVersion.WithKind("Namespace"), "", v1alpha1.SystemNamespace)
	err := member.Get(ctx, client.ObjectKeyFromObject(namespace), namespace)
	switch {
	case cluster.Absent(err) || refused(err):
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

// named returns an object with metadata only, for clients whose scheme may not have the kind.
func named(gvk schema.GroupVersionKind, namespace, name string) *metav1.PartialObjectMetadata {
	obj := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	obj.SetGroupVersionKind(gvk)
	return obj
}

func tell(report steps.Reporter, o steps.Outcome, format string, args ...any) {
	if report != nil {
		report(steps.Step{Outcome: o, What: fmt.Sprintf(format, args...)})
	}
}
