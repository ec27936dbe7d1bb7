// SPDX-License-Identifier: Apache-2.0

package join

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/credentials"
)

// putHostNamespace creates the namespace fairlead-system on the host. If the cluster became a member before it became a
// host, the namespace has LabelMade, and putHostNamespace removes this label. With the label, an unjoin of this cluster
// would delete the namespace, with all keys of the host.
func (p *joiner) putHostNamespace(ctx context.Context) error {
	_, outcome, err := put(ctx, p.host, systemNamespace(), func(ns *corev1.Namespace) { delete(ns.Labels, v1alpha1.LabelMade) })
	if err != nil {
		return err
	}
	p.done(outcome, "host: namespace "+v1alpha1.SystemNamespace, "")
	return nil
}

// askHost sends the MemberCluster as a dry run before the join writes anything. A host that is older than this hostctl may
// refuse a setting, for example a collector mode. Without askHost, the join would fail only after it had installed
// everything on the member.
func (p *joiner) askHost(ctx context.Context) error {
	want, err := p.known.DeepCopy(), error(nil)
	p.fillMemberCluster(want)
	switch {
	case p.known.UID == "":
		err = p.host.client.Create(ctx, want, client.FieldOwner(fieldManager), client.DryRunAll)
	case !equality.Semantic.DeepEqual(p.known, want):
		err = p.host.client.Update(ctx, want, client.FieldOwner(fieldManager), client.DryRunAll)
	}
	switch {
	case retriable(err): // another client wrote or deleted the MemberCluster since the join began; putMemberCluster will read it again
		return nil
	case apierrors.IsInvalid(err):
		return fmt.Errorf("the host refuses MemberCluster %s, so the join has written nothing. A host that is older than this hostctl does not know every "+
			"setting. Use a hostctl of the host's version, or upgrade the host with `hostctl init`: %w", p.opts.Name, err)
	}
	return wrapf(err, "sending MemberCluster %s to the host as a dry run", p.opts.Name)
}

// putMemberCluster writes the MemberCluster. If the MemberCluster existed when the join began and does not exist now,
// putMemberCluster returns an error and creates none: an unjoin has deleted it, and may have deleted the Secret and the
// host's account too.
func (p *joiner) putMemberCluster(ctx context.Context) error {
	have, outcome, err := p.known, Unchanged, error(nil)
	if p.known.UID == "" {
		obj := &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: p.opts.Name}}
		have, outcome, err = put(ctx, p.host, obj, p.fillMemberCluster)
	} else {
		err = retry.RetryOnConflict(retry.DefaultRetry, func() (err error) {
			have, outcome, err = p.updateMemberCluster(ctx)
			return err
		})
	}
	if err != nil {
		return err
	}
	p.registered = have
	p.done(outcome, "host: MemberCluster "+p.opts.Name, "")
	return nil
}

func (p *joiner) updateMemberCluster(ctx context.Context) (*v1alpha1.MemberCluster, Outcome, error) {
	have, err := FindMember(ctx, p.host.client, p.opts.Name)
	if err != nil {
		return nil, "", err
	}
	if have == nil || have.UID != p.known.UID || have.DeletionTimestamp != nil {
		return nil, "", fmt.Errorf("MemberCluster %s was deleted after the join had begun: wait until it is gone, then join again", p.opts.Name)
	}
	before := have.DeepCopy()
	p.fillMemberCluster(have)
	if equality.Semantic.DeepEqual(before, have) {
		return have, Unchanged, nil
	}
	err = p.host.client.Update(ctx, have, p.host.updateOptions()...)
	if absent(err) {
		err = apierrors.NewConflict(schema.GroupResource{Group: v1alpha1.Group, Resource: "memberclusters"}, p.opts.Name, err) // the caller reads the MemberCluster again
	}
	return have, Configured, wrapf(err, "writing MemberCluster %s to the host", p.opts.Name)
}

// confirm makes the last checks of a join, because other joins and unjoins may have run at the same time. It returns an
// error in two cases:
//
//   - The host's account or the Secret at the host does not exist, after a join with --rotate or an unjoin.
//   - Another join has set another collector mode or namespace policy. The admission policy may then come from one join and
//     the MemberCluster from the other.
func (p *joiner) confirm(ctx context.Context) error {
	if p.opts.DryRun {
		return nil
	}
	if err := p.readAccounts(ctx); err != nil {
		return err
	}
	secret, err := p.hostSecret(ctx)
	if err != nil {
		return err
	}
	if secret == nil || len(secret.Data[v1alpha1.SecretToken]) == 0 {
		return fmt.Errorf("an unjoin deleted Secret %s/%s at the host at the same time: join again", v1alpha1.SystemNamespace, p.opts.Name)
	}
	return p.confirmSettings(ctx)
}

func (p *joiner) confirmSettings(ctx context.Context) error {
	have, err := FindMember(ctx, p.host.client, p.opts.Name)
	if err != nil {
		return err
	}
	if have == nil || have.UID != p.registered.UID {
		return fmt.Errorf("an unjoin deleted MemberCluster %s at the same time: join again", p.opts.Name)
	}
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.AdmissionPolicy}}
	if err := p.member.get(ctx, policy); err != nil && !errors.Is(err, errAbsent) {
		return fmt.Errorf("reading %s on %s: %w", describe(policy), p.member.cluster, err)
	}
	if have.Spec.Collector != p.collector || !isInForce(policy, p.namespaces, p.collector) {
		return fmt.Errorf("another join of %s with other settings ran at the same time: run the join with the settings that you want again", p.opts.Name)
	}
	return nil
}

// fillMemberCluster sets the fields of a MemberCluster that a join decides, and the labels that the user gave. Other labels
// and the suspension stay. The finalizer keeps a deleted MemberCluster until the manager has withdrawn from the member.
func (p *joiner) fillMemberCluster(m *v1alpha1.MemberCluster) {
	controllerutil.AddFinalizer(m, v1alpha1.Finalizer)
	for key, value := range p.opts.Labels {
		metav1.SetMetaDataLabel(&m.ObjectMeta, key, value)
	}
	m.Spec.Endpoint = p.address.endpoint
	m.Spec.CABundle = p.address.ca
	m.Spec.TLSServerName = p.address.tlsServerName
	m.Spec.ProxyURL = credentials.WithoutUser(p.address.proxyURL)
	m.Spec.CredentialsRef.Name = p.opts.Name
	m.Spec.Collector = p.collector
	m.Spec.NamespacePolicy = p.namespaces
	m.Spec.Suspend = cmp.Or(m.Spec.Suspend, v1alpha1.SuspendNone)
}
