// SPDX-License-Identifier: Apache-2.0

package join

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/credentials"
)

// maxExchanges is how often a join tries to exchange the tokens. The join tries again if another client has written the
// Secret at the host since the join read it.
const maxExchanges = 5

// errSecretMoved means that another client wrote, created or deleted the Secret at the host after the join had read it.
var errSecretMoved = errors.New("other clients wrote it at the same time: join again")

// exchangeTokens keeps the host's tokens or requests new ones, and stores them in the Secret at the host. It runs before
// the join creates the MemberCluster, so that the manager never reads a MemberCluster without credentials.
//
// The manager renews the same tokens, and another join may exchange them at the same time. So exchangeTokens works in this
// order:
//
//  1. It reads the Secret at the host. Then it lists the token Secrets on the member.
//  2. It requests new tokens where the present ones cannot stay.
//  3. It writes the Secret at the host in the resourceVersion of step 1. If another client has written the Secret since,
//     the join revokes the tokens that it requested, and begins again.
//
// Without the check of step 3, the join could store a token that a renewal has replaced and that the manager is about to
// revoke. The host would then have no access.
//
// In step 3 the join also adds token Secrets to the list of tokens to revoke: those whose tokens the host does not have,
// because a join or a manager was killed before it stored them. Such a token Secret may instead belong to a renewal that is
// still running. That renewal read the Secret at the host before the write of step 3. So the API server refuses the
// renewal's own write, and its token never comes into use.
func (p *joiner) exchangeTokens(ctx context.Context) error {
	for attempt := 1; ; attempt++ {
		err := p.exchange(ctx, attempt == 1)
		if err == nil {
			return nil
		}
		moved := errors.Is(err, errSecretMoved)
		err = errors.Join(err, p.dropIssued(ctx))
		if !moved || attempt == maxExchanges {
			return err
		}
		p.note("the manager or another join wrote Secret %s at the host meanwhile: the join chooses the tokens again", p.opts.Name)
		if err := p.readAccounts(ctx); err != nil {
			return err
		}
	}
}

// readAccounts reads both accounts again, because another join may have replaced the collector's account. It returns an
// error if the host's account was replaced or deleted: that account owns the objects of this join, so only another join
// can repair the member.
func (p *joiner) readAccounts(ctx context.Context) error {
	for _, name := range []string{HostAccount, CollectorAccount} {
		account := serviceAccount(name)
		err := p.member.get(ctx, account)
		switch {
		case err != nil && !errors.Is(err, errAbsent):
			return fmt.Errorf("reading %s on %s: %w", describe(account), p.member.cluster, err)
		case err != nil, name == HostAccount && account.UID != p.account.UID:
			return fmt.Errorf("another join or an unjoin deleted %s on %s at the same time: join again", describe(account), p.member.cluster)
		case name == CollectorAccount:
			p.collectorAccount = account
		}
	}
	return nil
}

func (p *joiner) exchange(ctx context.Context, first bool) error {
	if err := p.obtainTokens(ctx); err != nil {
		return err
	}
	if first {
		if err := p.awaitEnforced(ctx); err != nil {
			return err
		}
		if err := p.putHostNamespace(ctx); err != nil {
			return err
		}
	}
	return p.storeTokens(ctx)
}

// readTokens reads the Secret at the host, and then lists the token Secrets on the member. exchangeTokens explains why the
// order matters.
func (p *joiner) readTokens(ctx context.Context) error {
	secret, err := p.hostSecret(ctx)
	if err != nil {
		return err
	}
	if secret != nil && secret.DeletionTimestamp != nil {
		if err := p.host.awaitGone(ctx, secret); err != nil {
			return fmt.Errorf("waiting until Secret %s is gone from the host: %w", p.opts.Name, err)
		}
		secret = nil
	}
	p.stored = secret
	p.tokenSecrets, err = p.listTokenSecrets(ctx)
	return err
}

// storeTokens creates the Secret at the host, or updates it if it has not changed since readTokens read it.
func (p *joiner) storeTokens(ctx context.Context) error {
	want := credentials.Binding{Cluster: p.opts.Name, Endpoint: p.address.endpoint, CA: p.address.ca,
		TLSServerName: p.address.tlsServerName, ProxyURL: p.address.proxyURL}.Data()
	want[v1alpha1.SecretToken] = []byte(p.token.token)
	if p.collectorToken.token != "" {
		want[v1alpha1.SecretCollectorToken] = []byte(p.collectorToken.token)
	}
	secret := p.secret()
	if p.stored != nil {
		secret = p.stored.DeepCopy()
	}
	setSuperseded(secret.Data, want, p.lost()...)
	outcome, err := p.storeSecret(ctx, secret, want)
	switch {
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err), p.stored != nil && absent(err):
		err = errSecretMoved
	case err != nil && !isRefusal(err):
		p.issued = nil // the host may have stored the token, so this join does not revoke it; if the host did not, the next join revokes it
	}
	if err != nil {
		return fmt.Errorf("writing %s to %s: %w", describe(secret), p.host.cluster, err)
	}
	p.issued = nil
	p.done(outcome, fmt.Sprintf("host: Secret %s/%s", secret.Namespace, secret.Name), "")
	return nil
}

// giveUp writes to the Secret at the host that the token of one token Secret is lost. The join then deletes the token
// Secret of this name on the member, to use the name for a new token. A renewal may be about to store the lost token. It
// has read the Secret at the host in the same resourceVersion, so the API server accepts only the first of the two writes.
// The client whose write fails chooses its tokens again. If the host has no Secret, no renewal can run, and giveUp does
// nothing.
func (p *joiner) giveUp(ctx context.Context, name string) error {
	if p.stored == nil {
		return nil
	}
	next := withLost(p.stored, name, p.now())
	err := p.host.client.Update(ctx, next)
	if apierrors.IsConflict(err) || absent(err) {
		err = errSecretMoved
	}
	if err != nil {
		return fmt.Errorf("noting in Secret %s at the host that the token bound to Secret %s/%s is lost: %w", p.opts.Name, v1alpha1.SystemNamespace, name, err)
	}
	p.stored = next
	return nil
}

func (p *joiner) storeSecret(ctx context.Context, secret *corev1.Secret, data map[string][]byte) (Outcome, error) {
	if p.stored == nil {
		secret.Type, secret.Data = v1alpha1.SecretTypeMember, data
		err := p.host.client.Create(ctx, secret, p.host.createOptions()...)
		if p.host.dry && absent(err) { // the namespace does not exist, because a dry run does not create it
			err = nil
		}
		return Created, err
	}
	if sameData(secret.Data, data) {
		return Unchanged, nil
	}
	secret.Data = data
	return Configured, p.host.client.Update(ctx, secret, p.host.updateOptions()...)
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

// dropIssued revokes the tokens that the join requested but did not store at the host. It uses a context of its own, so
// that it also works after the user has stopped the join.
func (p *joiner) dropIssued(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
	defer cancel()
	var errs []error
	for _, s := range p.issued {
		errs = append(errs, dropTokenSecret(ctx, p.member.client, s))
	}
	p.issued = nil
	return errors.Join(errs...)
}

// boundSecrets are the token Secrets on the member, of the host's account and of the collector's account.
type boundSecrets struct {
	// unknown is true if the user of hostctl may not list Secrets on the member; found is then empty.
	unknown bool
	found   []tokenSecret
}

// mayHold reports whether the token Secret s can exist, so that the token bound to it can be valid. It returns true if the
// join cannot list the token Secrets.
func (b boundSecrets) mayHold(s tokenSecret) bool { return b.unknown || slices.Contains(b.found, s) }

func (p *joiner) listTokenSecrets(ctx context.Context) (boundSecrets, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	err := p.member.client.List(ctx, list, client.InNamespace(v1alpha1.SystemNamespace))
	if apierrors.IsForbidden(err) {
		return boundSecrets{unknown: true}, nil
	}
	if err != nil {
		return boundSecrets{}, fmt.Errorf("listing the Secrets on %s that tokens are bound to: %w", p.member.cluster, err)
	}
	var b boundSecrets
	for i := range list.Items {
		at := &list.Items[i]
		isOwned := slices.ContainsFunc(at.OwnerReferences, func(ref metav1.OwnerReference) bool {
			return ref.UID != "" && (ref.UID == p.account.UID || ref.UID == p.collectorAccount.UID)
		})
		if s := (tokenSecret{at.Name, at.UID}); isOwned && s.known() && at.DeletionTimestamp == nil {
			b.found = append(b.found, s)
		}
	}
	return b, nil
}

// lost returns the token Secrets on the member, except those of the tokens that this join stores at the host.
func (p *joiner) lost() []tokenSecret {
	return slices.DeleteFunc(slices.Clone(p.tokenSecrets.found), func(s tokenSecret) bool {
		return s == p.token.secret || s == p.collectorToken.secret
	})
}
