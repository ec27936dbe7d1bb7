// SPDX-License-Identifier: Apache-2.0

package memberinstall

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/join/cluster"
	"github.com/fairlead-dev/fairlead/internal/join/membercollector"
	"github.com/fairlead-dev/fairlead/internal/join/steps"
)

// pullSecretTypes are the types of the Secrets with which a kubelet pulls the images of a pod.
var pullSecretTypes = []corev1.SecretType{corev1.SecretTypeDockerConfigJson, corev1.SecretTypeDockercfg}

// readPullSecrets reads the pull secrets of the collector that exist on the member. With --rotate the join deletes the
// collector's account, and the garbage collector then deletes the copies that this account owns. So readPullSecrets runs
// before the join changes anything, and putPullSecrets writes the copies again.
func (c *Collector) readPullSecrets(ctx context.Context, member cluster.Cluster) error {
	if c.OwnMember {
		return nil // the member is the host, so the host's Secrets are already there
	}
	c.pullSecrets = make(map[string]*corev1.Secret)
	for _, name := range c.Settings.PullSecrets {
		there := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: name}}
		switch err := member.Get(ctx, there); {
		case errors.Is(err, cluster.ErrAbsent):
		case err != nil:
			return fmt.Errorf("reading %s on %s: %w", cluster.Describe(there), member.Name, err)
		case !slices.Contains(pullSecretTypes, there.Type):
			return fmt.Errorf("%s on %s is of type %q: --image-pull-secret takes a Secret of type %s", cluster.Describe(there), member.Name, there.Type, corev1.SecretTypeDockerConfigJson)
		default:
			c.pullSecrets[name] = there
		}
	}
	return nil
}

// putPullSecrets writes to the member the Secrets with which its nodes pull the collector's image. A Secret of such a name
// on the member that no join created stays as it is.
func (c *Collector) putPullSecrets(ctx context.Context, p cluster.Pair, owner client.Object) error {
	if c.OwnMember {
		return nil // the member is the host, so the host's Secrets are already there
	}
	var t steps.Tally
	for _, name := range c.Settings.PullSecrets {
		outcome, err := c.putPullSecret(ctx, p, name, owner)
		if err != nil {
			return err
		}
		t.Add(outcome)
	}
	if names := c.Settings.PullSecrets; len(names) > 0 {
		p.Steps.Done(t.Outcome(), p.Member.Name+": pull secrets "+strings.Join(names, ", "), "")
	}
	return c.dropPullSecrets(ctx, p, c.Settings.PullSecrets)
}

// putPullSecret copies a Secret of the host to the member only if the user's flags or the host's manager name it. A name in
// the collector's Deployment on the member is not enough. A user of the member can write any name there, and could so make
// the join copy any Secret of the host to the member.
func (c *Collector) putPullSecret(ctx context.Context, p cluster.Pair, name string, owner client.Object) (steps.Outcome, error) {
	there := c.pullSecrets[name]
	fromHost := slices.Contains(c.Settings.FromHost, name)
	switch {
	case there != nil && !membercollector.IsOurs(there):
		return steps.Unchanged, nil
	case !fromHost && there == nil:
		p.Steps.Note("%s: pull secret %s does not exist there. The join copies it from the host only if you give --image-pull-secret %s", p.Member.Name, name, name)
		return steps.Unchanged, nil
	case !fromHost:
		p.Steps.Note("%s: pull secret %s stays as it is. The join copies it from the host again only if you give --image-pull-secret %s", p.Member.Name, name, name)
		return writePullSecret(ctx, p.Member, there, owner)
	}
	source := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: name}}
	err := p.Host.Get(ctx, source)
	switch {
	case errors.Is(err, cluster.ErrAbsent):
		return "", fmt.Errorf("neither the host nor %s has the Secret %s/%s: create it on one of them, or give another --image-pull-secret (the value \"none\" means no Secret)",
			p.Member.Name, source.Namespace, name)
	case err != nil:
		return "", fmt.Errorf("reading %s at the host: %w", cluster.Describe(source), err)
	case !slices.Contains(pullSecretTypes, source.Type):
		return "", fmt.Errorf("%s at the host is of type %q: --image-pull-secret takes a Secret of type %s", cluster.Describe(source), source.Type, corev1.SecretTypeDockerConfigJson)
	}
	return writePullSecret(ctx, p.Member, source, owner)
}

// writePullSecret writes a copy of source to the member. source is a Secret of the host, or the copy that an earlier join
// made. The collector's account owns the new copy.
func writePullSecret(ctx context.Context, member cluster.Cluster, source *corev1.Secret, owner client.Object) (steps.Outcome, error) {
	copied := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: source.Namespace, Name: source.Name}}
	_, outcome, err := cluster.Put(ctx, member, copied, func(s *corev1.Secret) {
		if s.Labels == nil {
			s.Labels = make(map[string]string)
		}
		membercollector.MarkOurs(s.Labels)
		s.Type, s.Data = source.Type, source.Data
		cluster.BelongTo(s, owner)
	})
	return outcome, err
}

// dropPullSecrets removes from the member the copies that an earlier join made, except those whose names are in keep.
func (c *Collector) dropPullSecrets(ctx context.Context, p cluster.Pair, keep []string) error {
	if c.OwnMember {
		return nil
	}
	var copies corev1.SecretList
	err := p.Member.Client.List(ctx, &copies, client.InNamespace(v1alpha1.SystemNamespace), client.MatchingLabels(membercollector.MarkOurs(map[string]string{})))
	if apierrors.IsForbidden(err) && c.Mode != v1alpha1.CollectorMember {
		return nil // the garbage collector deletes the copies after their owner, the collector's account
	}
	if err != nil {
		return fmt.Errorf("listing the pull secrets on %s: %w", p.Member.Name, err)
	}
	for i := range copies.Items {
		s := &copies.Items[i]
		if slices.Contains(keep, s.Name) || !slices.Contains(pullSecretTypes, s.Type) {
			continue
		}
		outcome, err := p.Member.Remove(ctx, s)
		if err != nil {
			return err
		}
		p.Steps.Done(outcome, p.Member.Name+": pull secret "+s.Name, "")
	}
	return nil
}
