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
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/credentials"
	"github.com/fairlead-dev/fairlead/internal/join/cluster"
	"github.com/fairlead-dev/fairlead/internal/join/permissions"
	"github.com/fairlead-dev/fairlead/internal/join/steps"
	"github.com/fairlead-dev/fairlead/internal/join/tokens"
)

// putHostNamespace creates the namespace fairlead-system on the host. If the cluster became a member before it became a
// host, the namespace has LabelMade, and putHostNamespace removes this label. With the label, an unjoin of this cluster
// would delete the namespace, with all keys of the host.
func putHostNamespace(ctx context.Context, pair cluster.Pair) error {
	_, outcome, err := cluster.Put(ctx, pair.Host, cluster.SystemNamespace(), func(ns *corev1.Namespace) { delete(ns.Labels, v1alpha1.LabelMade) })
	if err != nil {
		return err
	}
	pair.Steps.Done(outcome, "host: namespace "+v1alpha1.SystemNamespace, "")
	return nil
}

// askHost sends the MemberCluster as a dry run before the join writes anything. A host that is older than this hostctl may
// refuse a setting, for example a collector mode. Without askHost, the join would fail only after it had installed
// everything on the member.
func (p plan) askHost(ctx context.Context, host cluster.Cluster) error {
	known := p.found.known
	want, err := known.DeepCopy(), error(nil)
	p.fillMemberCluster(want)
	switch {
	case known.UID == "":
		err = host.Client.Create(ctx, want, client.FieldOwner(cluster.FieldManager), client.DryRunAll)
	case !equality.Semantic.DeepEqual(known, want):
		err = host.Client.Update(ctx, want, client.FieldOwner(cluster.FieldManager), client.DryRunAll)
	}
	switch {
	case cluster.Retriable(err): // another client wrote or deleted the MemberCluster since the join began; register will read it again
		return nil
	case apierrors.IsInvalid(err):
		return fmt.Errorf("the host refuses MemberCluster %s, so the join has written nothing. A host that is older than this hostctl does not know every "+
			"setting. Use a hostctl of the host's version, or upgrade the host with `hostctl init`: %w", p.name, err)
	}
	return wrapf(err, "sending MemberCluster %s to the host as a dry run", p.name)
}

// register writes the MemberCluster, and returns it. If the MemberCluster existed when the join began and does not exist
// now, register returns an error and creates none: an unjoin deleted it, and perhaps also the Secret and the host's
// account.
func (p plan) register(ctx context.Context, pair cluster.Pair) (*v1alpha1.MemberCluster, error) {
	have, outcome, err := p.found.known, steps.Unchanged, error(nil)
	if have.UID == "" {
		obj := &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: p.name}}
		have, outcome, err = cluster.Put(ctx, pair.Host, obj, p.fillMemberCluster)
	} else {
		err = retry.RetryOnConflict(retry.DefaultRetry, func() (err error) {
			have, outcome, err = p.updateMemberCluster(ctx, pair.Host)
			return err
		})
	}
	if err != nil {
		return nil, err
	}
	pair.Steps.Done(outcome, "host: MemberCluster "+p.name, "")
	return have, nil
}

func (p plan) updateMemberCluster(ctx context.Context, host cluster.Cluster) (*v1alpha1.MemberCluster, steps.Outcome, error) {
	have, err := FindMember(ctx, host.Client, p.name)
	if err != nil {
		return nil, "", err
	}
	if have == nil || have.UID != p.found.known.UID || have.DeletionTimestamp != nil {
		return nil, "", fmt.Errorf("MemberCluster %s was deleted after the join had begun: wait until it is gone, then join again", p.name)
	}
	before := have.DeepCopy()
	p.fillMemberCluster(have)
	if equality.Semantic.DeepEqual(before, have) {
		return have, steps.Unchanged, nil
	}
	err = host.Client.Update(ctx, have, host.UpdateOptions()...)
	if cluster.Absent(err) {
		err = apierrors.NewConflict(schema.GroupResource{Group: v1alpha1.Group, Resource: "memberclusters"}, p.name, err) // the caller reads the MemberCluster again
	}
	return have, steps.Configured, wrapf(err, "writing MemberCluster %s to the host", p.name)
}

// confirm makes the last checks of a join, because other joins and unjoins may have run at the same time. It returns an
// error in two cases:
//
//   - The host's account or the Secret at the host does not exist, after a join with --rotate or an unjoin.
//   - Another join has set another collector mode or namespace policy. The admission policy may then come from one join and
//     the MemberCluster from the other.
func (p plan) confirm(ctx context.Context, pair cluster.Pair, w written) error {
	if pair.Host.DryRun {
		return nil
	}
	if _, err := w.accounts.ReadAgain(ctx, pair.Member); err != nil {
		return err
	}
	secret, err := tokens.ReadHostSecret(ctx, pair.Host, p.name)
	if err != nil {
		return err
	}
	if secret == nil || len(secret.Data[v1alpha1.SecretToken]) == 0 {
		return fmt.Errorf("an unjoin deleted Secret %s/%s at the host at the same time: join again", v1alpha1.SystemNamespace, p.name)
	}
	return p.confirmSettings(ctx, pair, w.registered.UID)
}

func (p plan) confirmSettings(ctx context.Context, pair cluster.Pair, registered types.UID) error {
	have, err := FindMember(ctx, pair.Host.Client, p.name)
	if err != nil {
		return err
	}
	if have == nil || have.UID != registered {
		return fmt.Errorf("an unjoin deleted MemberCluster %s at the same time: join again", p.name)
	}
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.AdmissionPolicy}}
	if err := pair.Member.Get(ctx, policy); err != nil && !errors.Is(err, cluster.ErrAbsent) {
		return fmt.Errorf("reading %s on %s: %w", cluster.Describe(policy), pair.Member.Name, err)
	}
	if have.Spec.Collector != p.collector.Mode || !permissions.IsInForce(policy, p.namespaces, p.collector.Mode) {
		return fmt.Errorf("another join of %s with other settings ran at the same time: run the join with the settings that you want again", p.name)
	}
	return nil
}

// fillMemberCluster sets the fields of a MemberCluster that a join decides, and the labels that the user gave. Other labels
// and the suspension stay. The finalizer keeps a deleted MemberCluster until the manager has withdrawn from the member.
func (p plan) fillMemberCluster(m *v1alpha1.MemberCluster) {
	a := p.found.address
	controllerutil.AddFinalizer(m, v1alpha1.Finalizer)
	for key, value := range p.labels {
		metav1.SetMetaDataLabel(&m.ObjectMeta, key, value)
	}
	m.Spec.Endpoint = a.endpoint
	m.Spec.CABundle = a.ca
	m.Spec.TLSServerName = a.tlsServerName
	m.Spec.ProxyURL = credentials.WithoutUser(a.proxyURL)
	m.Spec.CredentialsRef.Name = p.name
	m.Spec.Collector = p.collector.Mode
	m.Spec.NamespacePolicy = p.namespaces
	m.Spec.Suspend = cmp.Or(m.Spec.Suspend, v1alpha1.SuspendNone)
}

func wrapf(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf(format+": %w", append(args, err)...)
}
