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

// pullSecretTypes are the types of the Secrets with which a kubelet pulls the images of a pod.
var pullSecretTypes = []corev1.SecretType{corev1.SecretTypeDockerConfigJson, corev1.SecretTypeDockercfg}

// readPullSecrets reads the pull secrets of the collector that exist on the member. With --rotate the join deletes the
// collector's account, and the garbage collector then deletes the copies that this account owns. So readPullSecrets runs
// before the join changes anything, and putPullSecrets writes the copies again.
func (p *joiner) readPullSecrets(ctx context.Context) error {
	if p.memberUID == p.identity.UID {
		return nil // the member is the host, so the host's Secrets are already there
	}
	p.pullSecrets = make(map[string]*corev1.Secret)
	for _, name := range p.collectorSettings.PullSecrets {
		there := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: name}}
		switch err := p.member.get(ctx, there); {
		case errors.Is(err, errAbsent):
		case err != nil:
			return fmt.Errorf("reading %s on %s: %w", describe(there), p.member.cluster, err)
		case !slices.Contains(pullSecretTypes, there.Type):
			return fmt.Errorf("%s on %s is of type %q: --image-pull-secret takes a Secret of type %s", describe(there), p.member.cluster, there.Type, corev1.SecretTypeDockerConfigJson)
		default:
			p.pullSecrets[name] = there
		}
	}
	return nil
}

// putPullSecrets writes to the member the Secrets with which its nodes pull the collector's image. A Secret of such a name
// on the member that no join created stays as it is.
func (p *joiner) putPullSecrets(ctx context.Context) error {
	if p.memberUID == p.identity.UID {
		return nil // the member is the host, so the host's Secrets are already there
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

// putPullSecret copies a Secret of the host to the member only if the user's flags or the host's manager name it. A name
// in the collector's Deployment on the member is not enough: a user of the member can write any name there, and could so
// make the join copy any Secret of the host to the member.
func (p *joiner) putPullSecret(ctx context.Context, name string) (Outcome, error) {
	there := p.pullSecrets[name]
	fromHost := slices.Contains(p.collectorSettings.FromHost, name)
	switch {
	case there != nil && !membercollector.IsOurs(there):
		return Unchanged, nil
	case !fromHost && there == nil:
		p.note("%s: pull secret %s does not exist there. The join copies it from the host only if you give --image-pull-secret %s", p.member.cluster, name, name)
		return Unchanged, nil
	case !fromHost:
		p.note("%s: pull secret %s stays as it is. The join copies it from the host again only if you give --image-pull-secret %s", p.member.cluster, name, name)
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
		return "", fmt.Errorf("%s at the host is of type %q: --image-pull-secret takes a Secret of type %s", describe(source), source.Type, corev1.SecretTypeDockerConfigJson)
	}
	return p.writePullSecret(ctx, source)
}

// writePullSecret writes a copy of source to the member. source is a Secret of the host, or the copy that an earlier join
// made. The collector's account owns the new copy.
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

// dropPullSecrets removes from the member the copies that an earlier join made, except those whose names are in keep.
func (p *joiner) dropPullSecrets(ctx context.Context, keep []string) error {
	if p.memberUID == p.identity.UID {
		return nil
	}
	var copies corev1.SecretList
	err := p.member.client.List(ctx, &copies, client.InNamespace(v1alpha1.SystemNamespace), client.MatchingLabels(membercollector.MarkOurs(map[string]string{})))
	if apierrors.IsForbidden(err) && p.collector != v1alpha1.CollectorMember {
		return nil // the garbage collector deletes the copies after their owner, the collector's account
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
