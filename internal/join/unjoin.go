// SPDX-License-Identifier: Apache-2.0

package join

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/join/cluster"
	"github.com/fairlead-dev/fairlead/internal/join/steps"
)

// UnjoinOptions are the settings of an unjoin.
type UnjoinOptions struct {
	// Name is the name of the MemberCluster. Required.
	Name string
	// Forget makes Unjoin remove the member at the host without contacting the member.
	Forget bool
	// Wait is how long Unjoin waits for the host's manager to withdraw from the member. With 0 it does not wait.
	Wait time.Duration
}

// Unjoin ends a membership. If the argument member is not nil, Unjoin itself removes Fairlead's objects from the member. If
// it is nil, the host's manager removes them; with Forget, the objects stay on the member. Workloads stay in any case.
func Unjoin(ctx context.Context, host, member *rest.Config, opts UnjoinOptions, report steps.Reporter) error {
	u := &unjoin{opts: opts, report: report}
	if err := u.discover(ctx, host, member); err != nil {
		return fmt.Errorf("unjoining %s: %w", opts.Name, err)
	}
	if err := u.leave(ctx); err != nil {
		return fmt.Errorf("unjoining %s: %w", opts.Name, err)
	}
	return nil
}

type unjoin struct {
	opts   UnjoinOptions
	report steps.Reporter

	// Filled by discover.
	host    client.Client
	hostUID types.UID
	member  client.Client           // nil if the user gave no kubeconfig of the member
	known   *v1alpha1.MemberCluster // nil if the host has no MemberCluster of that name
	// secrets has the uids of the Secrets at the host that may hold the member's credentials, by name. If a Secret of such a
	// name has another uid, a later join created it, and the unjoin must not remove it.
	secrets map[string]types.UID
}

// discover reads the host and the member. It makes all checks that can refuse the unjoin, before the unjoin removes
// anything.
func (u *unjoin) discover(ctx context.Context, host, member *rest.Config) error {
	w, err := cluster.Connect(host, "the host", false)
	if err != nil {
		return err
	}
	u.host = w.Client
	if u.hostUID, err = cluster.Identity(ctx, u.host); err != nil {
		return cluster.Explain(err, "the host", host.Host)
	}
	u.known, err = FindMember(ctx, u.host, u.opts.Name)
	if err != nil {
		return err
	}
	if err := u.discoverSecrets(ctx); err != nil {
		return err
	}
	if member == nil {
		if u.known == nil {
			return fmt.Errorf("the host has no member of that name; `kubectl get memberclusters` lists all. " +
				"If a cluster still has objects of Fairlead, give its kubeconfig with --cluster-kubeconfig to remove them")
		}
		return nil
	}
	if w, err = cluster.Connect(member, "member "+u.opts.Name, false); err != nil {
		return err
	}
	u.member = w.Client
	uid, err := cluster.Identity(ctx, u.member)
	if err != nil {
		return cluster.Explain(err, w.Name, member.Host)
	}
	if u.known != nil && u.known.Status.UID != "" && u.known.Status.UID != uid {
		return fmt.Errorf("--cluster-kubeconfig leads to the cluster with uid %s, but the cluster that joined has uid %s. Give the kubeconfig of the cluster that joined", uid, u.known.Status.UID)
	}
	return nil
}

func (u *unjoin) discoverSecrets(ctx context.Context) error {
	u.secrets = make(map[string]types.UID)
	if u.known == nil {
		return nil
	}
	for _, name := range sorted([]string{u.opts.Name, u.known.Spec.CredentialsRef.Name}) {
		secret := &corev1.Secret{}
		err := u.host.Get(ctx, types.NamespacedName{Namespace: v1alpha1.SystemNamespace, Name: name}, secret)
		switch {
		case cluster.Absent(err) || name == "":
		case err != nil:
			return fmt.Errorf("reading Secret %s/%s at the host: %w", v1alpha1.SystemNamespace, name, err)
		default:
			u.secrets[name] = secret.UID
		}
	}
	return nil
}

// FindMember reads a MemberCluster. It returns nil if no MemberCluster has that name.
func FindMember(ctx context.Context, host client.Client, name string) (*v1alpha1.MemberCluster, error) {
	m := &v1alpha1.MemberCluster{}
	err := host.Get(ctx, types.NamespacedName{Name: name}, m)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return m, wrapf(err, "reading MemberCluster %s at the host", name)
}

func (u *unjoin) leave(ctx context.Context) error {
	if u.known == nil { // the MemberCluster is gone already, for example after --forget
		if err := Withdraw(ctx, u.member, u.hostUID, u.opts.Name, u.report); err != nil {
			return err
		}
		return dropSecrets(ctx, u.host, u.opts.Name, u.opts.Name, u.report)
	}
	if u.known.DeletionTimestamp == nil {
		if err := client.IgnoreNotFound(u.host.Delete(ctx, u.known, client.Preconditions{UID: &u.known.UID})); err != nil {
			return fmt.Errorf("deleting the MemberCluster: %w", err)
		}
		tell(u.report, steps.Checked, "host: MemberCluster %s is being deleted", u.opts.Name)
	}
	if u.opts.Forget || u.member != nil {
		if err := u.leaveOurselves(ctx); err != nil {
			return err
		}
	}
	return u.awaitGone(ctx)
}

// leaveOurselves does the work that the manager does for a MemberCluster that is being deleted. The manager may be doing
// the same work at the same time.
func (u *unjoin) leaveOurselves(ctx context.Context) error {
	if u.member == nil {
		current, err := FindMember(ctx, u.host, u.opts.Name)
		if err != nil {
			return err
		}
		if current == nil {
			current = u.known.DeepCopy()
			current.Finalizers = nil
		}
		return Release(ctx, u.host, current, u.report)
	}
	membership, err := ownMembership(ctx, u.member, u.hostUID, u.opts.Name)
	if notOurs := (*NotOursError)(nil); err != nil && !errors.As(err, &notOurs) {
		return err
	}
	wasOurs := membership != nil
	isMoved := func(err error) bool { return apierrors.IsConflict(err) || apierrors.IsNotFound(err) }
	return retry.OnError(retry.DefaultBackoff, isMoved, func() error {
		current, err := FindMember(ctx, u.host, u.opts.Name)
		switch {
		case err != nil:
			return err
		case current == nil:
			return u.leaveUnregistered(ctx, wasOurs)
		case current.UID != u.known.UID:
			return nil // another join has created the MemberCluster again
		}
		return Leave(ctx, u.host, current, u.member, u.hostUID, u.report)
	})
}

// leaveUnregistered withdraws from a member whose MemberCluster disappeared during the unjoin. Either the manager has
// finished its work, or another client removed the finalizer and the host's account is still on the member. wasOurs is true
// if the Membership named this host when the unjoin began.
//
// If the Membership did not name this host when the unjoin began, and does not name it now, leaveUnregistered removes
// nothing. The account may belong to another host, whose first join has not written the Membership yet.
func (u *unjoin) leaveUnregistered(ctx context.Context, wasOurs bool) error {
	membership, err := ownMembership(ctx, u.member, u.hostUID, u.opts.Name)
	if err == nil && (membership != nil || wasOurs) {
		err = Withdraw(ctx, u.member, u.hostUID, u.opts.Name, u.report)
	}
	if notOurs := (*NotOursError)(nil); errors.As(err, &notOurs) {
		tell(u.report, steps.Noted, "member %s: nothing is removed on it: %s", u.opts.Name, notOurs)
		return nil
	}
	return err
}

// awaitGone waits until the MemberCluster is gone, and then removes the member's credentials from the host.
func (u *unjoin) awaitGone(ctx context.Context) error {
	if u.opts.Wait == 0 {
		return nil
	}
	last, isJoinedAgain := u.known, false
	err := wait.PollUntilContextTimeout(ctx, cluster.PollEvery, u.opts.Wait, true, func(ctx context.Context) (bool, error) {
		m, err := FindMember(ctx, u.host, u.opts.Name)
		if err != nil || m == nil || m.UID != u.known.UID {
			isJoinedAgain = m != nil
			return err == nil, err
		}
		last = m
		return false, nil
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return &StillThereError{Name: u.opts.Name, Ready: meta.FindStatusCondition(last.Status.Conditions, v1alpha1.ConditionReady)}
	}
	if err != nil {
		return err
	}
	tell(u.report, steps.Removed, "host: MemberCluster %s", u.opts.Name)
	if isJoinedAgain { // the Secret of this name belongs to the new MemberCluster; the manager deleted the earlier Secret before the earlier MemberCluster
		return nil
	}
	// A join may have stored its Secret and not yet created its MemberCluster. dropSecret does not delete that Secret,
	// because its uid is not in u.secrets.
	for _, name := range slices.Sorted(maps.Keys(u.secrets)) {
		if err := dropSecret(ctx, u.host, u.opts.Name, name, u.secrets[name], u.report); err != nil {
			return fmt.Errorf("removing Secret %s/%s: %w", v1alpha1.SystemNamespace, name, err)
		}
	}
	return nil
}

// StillThereError means that the MemberCluster still exists after the wait. The manager continues to withdraw from the
// member.
type StillThereError struct {
	Name  string
	Ready *metav1.Condition
}

func (e *StillThereError) Error() string {
	why := "it has no condition Ready, so check that the manager runs"
	if e.Ready != nil {
		why = e.Ready.Reason + ": " + e.Ready.Message
	}
	return fmt.Sprintf("MemberCluster %s is being deleted, but is not gone yet (%s). The host's manager continues to try. "+
		"If you have rights on the member yourself, run `hostctl unjoin %s --cluster-kubeconfig FILE`. If the member is gone for good, or another host has taken it "+
		"over, run `hostctl unjoin %s --forget`",
		e.Name, why, e.Name, e.Name)
}
