// SPDX-License-Identifier: Apache-2.0

package tokens

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/credentials"
	"github.com/fairlead-dev/fairlead/internal/join/cluster"
	"github.com/fairlead-dev/fairlead/internal/join/steps"
)

// maxExchanges is the largest number of attempts in which a join tries to exchange the tokens. It tries again if another
// client has written the Secret at the host since the join read it.
const maxExchanges = 5

// errSecretMoved means that another client wrote, created or deleted the Secret at the host after the join had read it.
var errSecretMoved = errors.New("other clients wrote it at the same time: join again")

// Exchange keeps the host's tokens or requests new ones, and stores them in the Secret at the host.
//
// The manager renews the same tokens, and another join may exchange them at the same time. So Run works in this order:
//
//  1. It reads the Secret at the host. Then it lists the token Secrets on the member.
//  2. It requests new tokens where the present ones cannot stay.
//  3. It writes the Secret at the host in the resourceVersion of step 1. If another client has written the Secret since,
//     the join revokes the tokens that it requested, and begins again.
//
// Without the check of step 3, the join could store a token that a renewal has replaced and that the manager is about to
// revoke. The host would then have no access.
//
// In step 3 the join also adds token Secrets to the list of tokens to revoke, if the host does not have their tokens. That
// happens when a join or a manager is killed before it stores a token. Such a token Secret may instead belong to a renewal
// that is still running. That renewal read the Secret at the host before the write of step 3. So the API server refuses the
// renewal's own write, and its token never comes into use.
type Exchange struct {
	Host, Member cluster.Cluster
	Steps        *steps.Recorder
	Now          func() time.Time
	// Collector is where the collector runs. Only in mode Host does the host get a token of the collector's account.
	Collector v1alpha1.CollectorMode
	// Binding is stored together with the tokens. Its field Cluster is the name of the MemberCluster and of the Secret.
	Binding credentials.Binding
	// BeforeStore runs once, in the first attempt that has obtained tokens, before the join stores them. hostToken is the
	// host's token.
	BeforeStore func(ctx context.Context, hostToken string) error
}

// Run exchanges the tokens of the accounts. It returns the time at which the host's token expires; zero if a dry run would
// request a new token.
func (e Exchange) Run(ctx context.Context, accounts Accounts) (expires time.Time, err error) {
	before := e.BeforeStore
	for n := 1; ; n++ {
		a := &attempt{in: e, accounts: accounts}
		err := a.run(ctx, before)
		if err == nil {
			return a.host.Expires, nil
		}
		moved := errors.Is(err, errSecretMoved)
		err = errors.Join(err, a.revokeIssued(ctx))
		if !moved || n == maxExchanges {
			return time.Time{}, err
		}
		e.Steps.Note("the manager or another join wrote Secret %s at the host meanwhile: the join chooses the tokens again", e.Binding.Cluster)
		if accounts, err = accounts.ReadAgain(ctx, e.Member); err != nil {
			return time.Time{}, err
		}
		if a.isPrepared { // if this attempt ended before it called BeforeStore, the next attempt calls it
			before = func(context.Context, string) error { return nil }
		}
	}
}

// attempt is one attempt of an exchange.
type attempt struct {
	in       Exchange
	accounts Accounts

	// stored is the Secret at the host that the attempt read before it chose the tokens; nil if there was none.
	stored *corev1.Secret
	// present are the token Secrets on the member.
	present boundSecrets
	// host and collector are the tokens to store. collector is the zero value if the collector does not run in the manager.
	host, collector Credential
	// issued are the token Secrets of the tokens that the attempt has requested, but not yet stored at the host.
	issued []tokenSecret
	// isPrepared is true once BeforeStore has run.
	isPrepared bool
}

func (a *attempt) run(ctx context.Context, beforeStore func(context.Context, string) error) error {
	if err := a.read(ctx); err != nil {
		return err
	}
	if err := a.obtain(ctx); err != nil {
		return err
	}
	if err := beforeStore(ctx, a.host.Token); err != nil {
		return err
	}
	a.isPrepared = true
	return a.store(ctx)
}

// read reads the Secret at the host, and then lists the token Secrets on the member. The comment of Exchange explains why
// the order matters.
func (a *attempt) read(ctx context.Context) error {
	secret, err := ReadHostSecret(ctx, a.in.Host, a.in.Binding.Cluster)
	if err != nil {
		return err
	}
	if secret != nil && secret.DeletionTimestamp != nil {
		if err := a.in.Host.AwaitGone(ctx, secret); err != nil {
			return fmt.Errorf("waiting until Secret %s is gone from the host: %w", a.in.Binding.Cluster, err)
		}
		secret = nil
	}
	a.stored = secret
	a.present, err = listTokenSecrets(ctx, a.in.Member, a.accounts)
	return err
}

// store creates the Secret at the host, or updates it if it has not changed since the attempt read it.
func (a *attempt) store(ctx context.Context) error {
	want := a.in.Binding.Data()
	want[v1alpha1.SecretToken] = []byte(a.host.Token)
	if a.collector.Token != "" {
		want[v1alpha1.SecretCollectorToken] = []byte(a.collector.Token)
	}
	secret := hostSecret(a.in.Binding.Cluster)
	if a.stored != nil {
		secret = a.stored.DeepCopy()
	}
	setSuperseded(secret.Data, want, a.lost()...)
	outcome, err := a.write(ctx, secret, want)
	switch {
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err), a.stored != nil && cluster.Absent(err):
		err = errSecretMoved
	case err != nil && !isRefusal(err):
		a.issued = nil // the host may have stored the token, so this join does not revoke it; if the host did not, the next join revokes it
	}
	if err != nil {
		return fmt.Errorf("writing %s to %s: %w", cluster.Describe(secret), a.in.Host.Name, err)
	}
	a.issued = nil
	a.in.Steps.Done(outcome, fmt.Sprintf("host: Secret %s/%s", secret.Namespace, secret.Name), "")
	return nil
}

func (a *attempt) write(ctx context.Context, secret *corev1.Secret, data map[string][]byte) (steps.Outcome, error) {
	if a.stored == nil {
		secret.Type, secret.Data = v1alpha1.SecretTypeMember, data
		err := a.in.Host.Client.Create(ctx, secret, a.in.Host.CreateOptions()...)
		if a.in.Host.DryRun && cluster.Absent(err) { // the namespace does not exist, because a dry run does not create it
			err = nil
		}
		return steps.Created, err
	}
	if sameData(secret.Data, data) {
		return steps.Unchanged, nil
	}
	secret.Data = data
	return steps.Configured, a.in.Host.Client.Update(ctx, secret, a.in.Host.UpdateOptions()...)
}

// lost returns the token Secrets on the member, except those of the tokens that this join stores at the host.
func (a *attempt) lost() []tokenSecret {
	return slices.DeleteFunc(slices.Clone(a.present.found), func(s tokenSecret) bool {
		return s == a.host.secret || s == a.collector.secret
	})
}

// giveUp records in the Secret at the host that the token of one token Secret is lost. The join then deletes the token
// Secret of this name on the member, to use the name for a new token. A renewal may be about to store the lost token.
// Renewal and join have read the Secret at the host in the same resourceVersion, so the API server accepts only the first
// of their writes. The client whose write fails chooses its tokens again. If the host has no Secret, no renewal can run,
// and giveUp does nothing.
func (a *attempt) giveUp(ctx context.Context, name string) error {
	if a.stored == nil {
		return nil
	}
	next := withLost(a.stored, name, a.in.Now())
	err := a.in.Host.Client.Update(ctx, next)
	if apierrors.IsConflict(err) || cluster.Absent(err) {
		err = errSecretMoved
	}
	if err != nil {
		return fmt.Errorf("noting in Secret %s at the host that the token bound to Secret %s/%s is lost: %w", a.in.Binding.Cluster, v1alpha1.SystemNamespace, name, err)
	}
	a.stored = next
	return nil
}

// revokeIssued revokes the tokens that the attempt requested but did not store at the host. It uses a context of its own,
// so that it also works after the user has stopped the join.
func (a *attempt) revokeIssued(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cluster.RequestTimeout)
	defer cancel()
	var errs []error
	for _, s := range a.issued {
		errs = append(errs, dropTokenSecret(ctx, a.in.Member.Client, s))
	}
	a.issued = nil
	return errors.Join(errs...)
}

func sameData(a, b map[string][]byte) bool {
	if len(a) != len(b) {
		return false
	}
	for k := range a {
		if !bytes.Equal(a[k], b[k]) {
			return false
		}
	}
	return true
}

// isRefusal reports whether err proves that the API server did not store a write: the API server answered with a status
// from 400 to 499. After any other error the API server may have stored the write.
func isRefusal(err error) bool {
	var answer apierrors.APIStatus
	return errors.As(err, &answer) && answer.Status().Code >= 400 && answer.Status().Code < 500
}
