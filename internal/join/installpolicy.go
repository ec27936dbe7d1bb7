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

// policyTimeout bounds the wait until the member's API server enforces a new policy. It reads policies about every second.
const policyTimeout = 30 * time.Second

// putPolicy makes the member itself restrict the host's account to the namespace policy. The policy belongs to every
// ClusterRole of the join, so the garbage collector removes it after the last of them. The host may delete
// ClusterRole fairlead-host, but it has lost its rights before the policy is gone.
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

// markMade puts the label made on namespaces that a manager of an earlier version created for a ClusterFederated
// without it. Policies see labels only, so the policy would close these namespaces to the host.
func (p *joiner) markMade(ctx context.Context) error {
	if p.membership.Spec.NamespacePolicy != "" {
		return nil // an earlier join has done so; since then the host could make other namespaces look like these
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NamespaceList"))
	if err := p.member.client.List(ctx, list, client.HasLabels{v1alpha1.LabelUID}); err != nil {
		return fmt.Errorf("listing the namespaces of %s that wrappers brought: %w", p.member.cluster, err)
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

// awaitEnforced waits until the member's API server enforces the policy for the host's account, before the host gets
// its token. It sends a question with that token: the policy refuses it, and the refusal names the policy. If a
// member has several API servers, the others follow within about a second.
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
		return fmt.Errorf("%s does not enforce the admission policy %s %s after it was written, and the host gets no token without it. Check that "+
			"--disable-admission-plugins does not switch ValidatingAdmissionPolicy off there, then join again. The API server's last answer: %v",
			p.member.cluster, v1alpha1.AdmissionPolicy, policyTimeout, last)
	}
	return err
}

// as is a client for the member with a token of the host's account. It uses the address of the join itself, because
// the host's address may not be reachable from here.
func (p *joiner) as(token string) (client.Client, error) {
	cfg := rest.AnonymousClientConfig(p.memberConfig)
	cfg.BearerToken = token
	cfg.Wrap(redirect.Refuse)
	c, err := client.New(cfg, client.Options{Scheme: scheme, Mapper: p.member.client.RESTMapper()})
	return c, wrapf(err, "connecting to %s as %s", p.member.cluster, HostAccount)
}

// explainPolicy describes why the join cannot install the policy on the member.
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

// decideNamespaces decides which namespaces are open. A member that has a policy keeps it, until a person with write
// access to the member passes another. A later change in the MemberCluster does not count: only the host's editors
// decide that field.
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
	case known == v1alpha1.NamespacesAll && p.membership.Spec.Host.UID == "":
		p.namespaces = v1alpha1.NamespacesManaged
		p.note("MemberCluster %s says namespacePolicy All, but no join has set it on the member, so the policy is Managed: "+
			"`hostctl join %s --cluster-kubeconfig FILE --namespaces All` would change it",
			p.opts.Name, p.opts.Name)
	case known == v1alpha1.NamespacesAll: // joined by a version that installed no policy
		p.namespaces = known
		p.note("MemberCluster %s says namespacePolicy All, so the member's admission policy opens every namespace but kube-* and %s; "+
			"`hostctl join %s --cluster-kubeconfig FILE --namespaces Managed` would close them", p.opts.Name, v1alpha1.SystemNamespace, p.opts.Name)
	default:
		p.namespaces = v1alpha1.NamespacesManaged
	}
}
