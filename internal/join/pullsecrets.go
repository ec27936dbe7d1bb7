// SPDX-License-Identifier: Apache-2.0

package join

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/join/membercollector"
)

// The types of Secrets that a pod pulls images with.
var pullSecretTypes = []corev1.SecretType{corev1.SecretTypeDockerConfigJson, corev1.SecretTypeDockercfg}

// readPullSecrets reads the pull secrets of the collector that the member has, before the join changes anything: a join with --rotate
// makes the owner of the copies anew, and the member's garbage collector deletes them.
func (p *joiner) readPullSecrets(ctx context.Context) error {
	if p.memberUID == p.identity.UID {
		return nil // the host's Secrets are there
	}
	p.pullSecrets = make(map[string]*corev1.Secret)
	for _, name := range p.collectorSettings.PullSecrets {
		there := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: name}}
		switch err := p.member.get(ctx, there); {
		case errors.Is(err, errAbsent):
		case err != nil:
			return fmt.Errorf("reading %s on %s: %w", describe(there), p.member.cluster, err)
		case !slices.Contains(pullSecretTypes, there.Type):
			return fmt.Errorf("%s on %s is of type %q: --image-pull-secret takes one of type %s", describe(there), p.member.cluster, there.Type, corev1.SecretTypeDockerConfigJson)
		default:
			p.pullSecrets[name] = there
		}
	}
	return nil
}

// putPullSecrets puts the Secrets with which the nodes pull the image onto the member. A Secret of the name that a person made on the
// member is used as it is.
func (p *joiner) putPullSecrets(ctx context.Context) error {
	if p.memberUID == p.identity.UID {
		return nil // the host's Secrets are there
	}
	var t tally
	for _, name := range p.collectorSettings.PullSecrets {
		outcome, err := p.putPullSecret(ctx, name)
		if err != nil {
			return err
		}
		t.add(outcome)
	}
	if names := p.collectorSettings.PullSecrets; len(names) > 0 {
		p.done(t.outcome(), p.member.cluster+": pull secrets "+list(names), "")
	}
	return p.dropPullSecrets(ctx, p.collectorSettings.PullSecrets)
}

// putPullSecret copies a Secret of the host only if the person or the host's manager names it. The member's people can write any name
// into the collector's Deployment: otherwise they would choose which Secret of the host the join hands to them.
func (p *joiner) putPullSecret(ctx context.Context, name string) (Outcome, error) {
	there := p.pullSecrets[name]
	fromHost := slices.Contains(p.collectorSettings.FromHost, name)
	switch {
	case there != nil && !membercollector.IsOurs(there):
		return Unchanged, nil
	case !fromHost && there == nil:
		p.note("%s: pull secret %s is not there. A join copies it from the host only with --image-pull-secret %s", p.member.cluster, name, name)
		return Unchanged, nil
	case !fromHost:
		p.note("%s: pull secret %s stays as it is there. A join copies it from the host again only with --image-pull-secret %s", p.member.cluster, name, name)
		return p.writePullSecret(ctx, there)
	}
	source := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: name}}
	err := p.host.get(ctx, source)
	switch {
	case errors.Is(err, errAbsent):
		return "", fmt.Errorf("neither the host nor %s has the Secret %s/%s: create it on one of them, or give another --image-pull-secret (the value \"none\" means no Secret)",
			p.member.cluster, source.Namespace, name)
	case err != nil:
		return "", fmt.Errorf("reading %s at the host: %w", describe(source), err)
	case !slices.Contains(pullSecretTypes, source.Type):
		return "", fmt.Errorf("%s at the host is of type %q: --image-pull-secret takes one of type %s", describe(source), source.Type, corev1.SecretTypeDockerConfigJson)
	}
	return p.writePullSecret(ctx, source)
}

// writePullSecret writes a copy of a Secret to the member. It belongs to the collector's account.
func (p *joiner) writePullSecret(ctx context.Context, source *corev1.Secret) (Outcome, error) {
	copied := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: source.Namespace, Name: source.Name}}
	_, outcome, err := put(ctx, p.member, copied, func(s *corev1.Secret) {
		if s.Labels == nil {
			s.Labels = make(map[string]string)
		}
		membercollector.MarkOurs(s.Labels)
		s.Type, s.Data = source.Type, source.Data
		belongTo(s, p.collectorAccount)
	})
	return outcome, err
}

// dropPullSecrets removes the copies that an earlier join made, but for the named ones.
func (p *joiner) dropPullSecrets(ctx context.Context, keep []string) error {
	if p.memberUID == p.identity.UID {
		return nil
	}
	var copies corev1.SecretList
	err := p.member.client.List(ctx, &copies, client.InNamespace(v1alpha1.SystemNamespace), client.MatchingLabels(membercollector.MarkOurs(map[string]string{})))
	if apierrors.IsForbidden(err) && p.collector != v1alpha1.CollectorMember {
		return nil // the garbage collector removes the copies with the account
	}
	if err != nil {
		return fmt.Errorf("listing the pull secrets on %s: %w", p.member.cluster, err)
	}
	for i := range copies.Items {
		s := &copies.Items[i]
		if slices.Contains(keep, s.Name) || !slices.Contains(pullSecretTypes, s.Type) {
			continue
		}
		outcome, err := p.member.remove(ctx, s)
		if err != nil {
			return err
		}
		p.done(outcome, p.member.cluster+": pull secret "+s.Name, "")
	}
	return nil
}
