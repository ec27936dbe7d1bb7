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

// maxExchanges bounds how often a join chooses the tokens again because another client wrote the Secret at the host.
const maxExchanges = 5

// errSecretMoved: another client wrote, created or deleted the Secret at the host after the join had read it.
var errSecretMoved = errors.New("other clients wrote it at the same time: join again")

// exchangeTokens chooses the tokens and stores them in the Secret at the host, before the MemberCluster exists: the
// manager never sees a MemberCluster without credentials.
//
// The manager renews the same tokens, and another join may exchange them. So the join writes only the Secret by which
// it chose. If another client has written it meanwhile, the join revokes the tokens that it issued, and chooses again.
// Otherwise it could store a token that a renewal has replaced and the manager is about to revoke. The host would
// then have no access.
//
// A token is bound to a Secret on the member. The join puts such Secrets that the host does not know of on the list
// of tokens to revoke. They come from a join or a manager that was killed before it stored its token. One of them may
// belong to a renewal under way. That renewal read the Secret at the host before this join lists, so its write
// conflicts with this one's, and the list never names a token that comes into use.
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
		p.note("the manager or another join wrote Secret %s at the host meanwhile: the tokens are chosen again", p.opts.Name)
		if err := p.readAccounts(ctx); err != nil {
			return err
		}
	}
}

// readAccounts reads the accounts again: another join may have made the collector's account again. If the host's account was
// replaced or is gone, no account owns the objects of this join. Only another join repairs that.
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

// readTokens reads what the tokens are chosen by. It reads the host's Secret before it lists the member's, see
// exchangeTokens.
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

// storeTokens writes the Secret at the host as obtainTokens read it, or creates it.
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
		p.issued = nil // it may have been stored: the next join revokes it where it was not
	}
	if err != nil {
		return fmt.Errorf("writing %s to %s: %w", describe(secret), p.host.cluster, err)
	}
	p.issued = nil
	p.done(outcome, fmt.Sprintf("host: Secret %s/%s", secret.Namespace, secret.Name), "")
	return nil
}

// giveUp writes the Secret at the host before the join deletes a Secret on the member to make room. A renewal may have
// stored the token that is bound to it since the join read the Secret at the host, or may be about to. Then the
// host's API server refuses the second write, and the join or the renewal behind it chooses again. A host without a
// Secret has no renewal.
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
		if p.host.dry && absent(err) { // a dry run has not created the namespace
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

// isRefusal reports whether the API server answered that it did not store a write. After another error it may have.
func isRefusal(err error) bool {
	var answer apierrors.APIStatus
	return errors.As(err, &answer) && answer.Status().Code >= 400 && answer.Status().Code < 500
}

// dropIssued revokes the tokens that the join issued and the host does not hold, also when the person stops the join.
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

// boundSecrets are the Secrets on the member that tokens of its present accounts are bound to.
type boundSecrets struct {
	// unknown is true if the person's account may not list them.
	unknown bool
	found   []tokenSecret
}

// mayHold reports whether the token of a Secret can be valid.
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

// lost are Secrets of tokens that neither the Secret at the host nor this join holds.
func (p *joiner) lost() []tokenSecret {
	return slices.DeleteFunc(slices.Clone(p.tokenSecrets.found), func(s tokenSecret) bool {
		return s == p.token.secret || s == p.collectorToken.secret
	})
}
