// SPDX-License-Identifier: Apache-2.0

package join

import (
	"context"
	"fmt"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/marks"
	"github.com/fairlead-dev/fairlead/internal/redirect"
)

// policyTimeout bounds the wait until the member's API server enforces a new policy. An API server reloads its policies
// about every second.
const policyTimeout = 30 * time.Second

// putPolicy writes the admission policy, by which the member's API server restricts the host's account to the namespaces
// that the namespace policy allows. The host may delete ClusterRole fairlead-host, and with it the other ClusterRoles of
// the join, which that ClusterRole owns. Every ClusterRole of the join owns the admission policy, so the garbage collector
// removes the policy only when the host has lost all its rights.
func (p *joiner) putPolicy(ctx context.Context) error {
	spec, _ := policySpec(p.namespaces, p.collector)
	var t tally
	meta := metav1.ObjectMeta{Name: v1alpha1.AdmissionPolicy}
	_, outcome, err := put(ctx, p.member, &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: meta},
		func(have *admissionregistrationv1.ValidatingAdmissionPolicy) {
			have.Spec = *spec.DeepCopy()
			belongTo(have, p.roleObjects...)
		})
	if err != nil {
		return explainPolicy(err, p.member.cluster)
	}
	t.add(outcome)
	_, outcome, err = put(ctx, p.member, &admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: meta},
		func(have *admissionregistrationv1.ValidatingAdmissionPolicyBinding) {
			have.Spec = policyBindingSpec()
			belongTo(have, p.roleObjects...)
		})
	if err != nil {
		return explainPolicy(err, p.member.cluster)
	}
	t.add(outcome)
	p.done(t.outcome(), fmt.Sprintf("%s: admission policy %s (namespaces: %s)", p.member.cluster, v1alpha1.AdmissionPolicy, p.namespaces), "")
	return nil
}

// markMade puts LabelMade on namespaces that a manager of an earlier version created for a ClusterFederated without this
// label. The admission policy recognises open namespaces by their labels only. Without the label it would close these
// namespaces to the host.
func (p *joiner) markMade(ctx context.Context) error {
	if p.membership.Spec.NamespacePolicy != "" {
		return nil // an earlier join has labelled them. Labelling again would open every namespace on which the host has put the same marks since
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NamespaceList"))
	if err := p.member.client.List(ctx, list, client.HasLabels{v1alpha1.LabelUID}); err != nil {
		return fmt.Errorf("listing the namespaces of %s that wrappers created: %w", p.member.cluster, err)
	}
	for i := range list.Items {
		ns := &list.Items[i]
		if ns.Labels[v1alpha1.LabelMade] == "true" || !marks.CreatedBefore(ns) {
			continue
		}
		before := ns.DeepCopy()
		metav1.SetMetaDataLabel(&ns.ObjectMeta, v1alpha1.LabelMade, "true")
		ns.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
		if err := p.member.client.Patch(ctx, ns, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}), p.member.patchOptions()...); err != nil {
			return fmt.Errorf("labelling namespace %s of %s as made by the host: %w", ns.Name, p.member.cluster, err)
		}
		p.done(Configured, fmt.Sprintf("%s: namespace %s: label %s", p.member.cluster, ns.Name, v1alpha1.LabelMade), "a wrapper of the host created it")
	}
	return nil
}

// awaitEnforced waits until the member's API server enforces the admission policy for the host's account. The join gives
// the host its token only afterwards. To find out, awaitEnforced uses that token to create the test Delivery (see question)
// as a dry run. The policy refuses it with a message that contains the policy's digest. If a member has several API
// servers, awaitEnforced asks one of them. The others load the policy within about a second.
func (p *joiner) awaitEnforced(ctx context.Context) error {
	if p.opts.DryRun {
		return nil
	}
	_, digest := policySpec(p.namespaces, p.collector)
	account, err := p.as(p.token.token)
	if err != nil {
		return err
	}
	var last error
	err = wait.PollUntilContextTimeout(ctx, pollEvery, policyTimeout, true, func(ctx context.Context) (bool, error) {
		last = account.Create(ctx, question(), client.DryRunAll)
		if last != nil && !apierrors.IsForbidden(last) {
			return false, fmt.Errorf("asking %s whether it enforces the admission policy %s: %w", p.member.cluster, v1alpha1.AdmissionPolicy, last)
		}
		return last != nil && strings.Contains(last.Error(), digest), nil
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return fmt.Errorf("%s does not enforce the admission policy %s %s after the join wrote it, and the join gives the host no token without it. Check that "+
			"--disable-admission-plugins does not switch ValidatingAdmissionPolicy off on that API server, then join again. The API server's last answer: %v",
			p.member.cluster, v1alpha1.AdmissionPolicy, policyTimeout, last)
	}
	return err
}

// as returns a client for the member that uses a token of the host's account. The client connects to the address in the
// user's kubeconfig, because this machine may not reach the address that the host will use.
func (p *joiner) as(token string) (client.Client, error) {
	cfg := rest.AnonymousClientConfig(p.memberConfig)
	cfg.BearerToken = token
	cfg.Wrap(redirect.Refuse)
	c, err := client.New(cfg, client.Options{Scheme: scheme, Mapper: p.member.client.RESTMapper()})
	return c, wrapf(err, "connecting to %s as %s", p.member.cluster, HostAccount)
}

// explainPolicy returns an error that tells why the join cannot write the admission policy to the member.
func explainPolicy(err error, cluster string) error {
	switch {
	case apierrors.IsForbidden(err):
		return fmt.Errorf("installing the admission policy that keeps the host out of namespaces that are not open to it: the user of the cluster's kubeconfig "+
			"may not write it. Use a kubeconfig with cluster-admin rights (--cluster-kubeconfig), or give that user {apiGroups: [%s], "+
			"resources: [validatingadmissionpolicies, validatingadmissionpolicybindings], verbs: [get, create, update]}: %w",
			admissionregistrationv1.GroupName, err)
	case absent(err):
		return fmt.Errorf("installing the admission policy that keeps the host out of namespaces that are not open to it: %s does not serve "+
			"validatingadmissionpolicies of %s. Check that its --runtime-config does not switch the API off: %w",
			cluster, admissionregistrationv1.SchemeGroupVersion, err)
	}
	return err
}

// decideNamespaces chooses the namespace policy. A member keeps the policy of its last join, which the Membership records,
// until a user joins it again with another --namespaces. While the Membership has a policy, decideNamespaces ignores
// spec.namespacePolicy of the MemberCluster: a user who can write MemberClusters at the host may have no rights on the
// member.
func (p *joiner) decideNamespaces() {
	known := p.known.Spec.NamespacePolicy
	var enforced v1alpha1.NamespacePolicy
	if !p.isAnothers() {
		enforced = p.membership.Spec.NamespacePolicy
	}
	switch {
	case p.opts.Namespaces != "":
		p.namespaces = p.opts.Namespaces
	case enforced != "":
		p.namespaces = enforced
		if known != "" && known != enforced {
			p.note("MemberCluster %s says namespacePolicy %s, but the last join set %s, which stays: `hostctl join %s --cluster-kubeconfig FILE --namespaces %s` would change it",
				p.opts.Name, known, enforced, p.opts.Name, known)
		}
	case known == v1alpha1.NamespacesAll && (p.membership.Spec.Host.UID == "" || p.isAnothers()):
		p.namespaces = v1alpha1.NamespacesManaged
		p.note("MemberCluster %s says namespacePolicy All, but no join of this host has set it on the member, so the policy is Managed: "+
			"`hostctl join %s --cluster-kubeconfig FILE --namespaces All` would change it",
			p.opts.Name, p.opts.Name)
	case known == v1alpha1.NamespacesAll: // an earlier version joined the member, and installed no admission policy
		p.namespaces = known
		p.note("MemberCluster %s says namespacePolicy All, so the member's admission policy opens every namespace but kube-* and %s; "+
			"`hostctl join %s --cluster-kubeconfig FILE --namespaces Managed` would close them", p.opts.Name, v1alpha1.SystemNamespace, p.opts.Name)
	default:
		p.namespaces = v1alpha1.NamespacesManaged
	}
}
