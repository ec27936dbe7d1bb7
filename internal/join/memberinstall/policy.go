// SPDX-License-Identifier: Apache-2.0

package memberinstall

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
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/marks"
	"github.com/fairlead-dev/fairlead/internal/join/cluster"
	"github.com/fairlead-dev/fairlead/internal/join/permissions"
	"github.com/fairlead-dev/fairlead/internal/join/steps"
)

// policyTimeout bounds the wait until the member's API server enforces a new policy. An API server reloads its policies
// about every second.
const policyTimeout = 30 * time.Second

// putPolicy writes the admission policy, by which the member's API server restricts the host's account to the namespaces
// that the namespace policy allows. The host has the right to delete ClusterRole fairlead-host, which owns the other
// ClusterRoles of the join. Every ClusterRole of the join owns the admission policy, so the garbage collector removes the
// policy only when the host has lost all its rights.
func putPolicy(
	ctx context.Context, p cluster.Pair, namespaces v1alpha1.NamespacePolicy, collector v1alpha1.CollectorMode, roles []client.Object,
) error {
	spec, _ := permissions.PolicySpec(namespaces, collector)
	var t steps.Tally
	meta := metav1.ObjectMeta{Name: v1alpha1.AdmissionPolicy}
	_, outcome, err := cluster.Put(ctx, p.Member, &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: meta},
		func(have *admissionregistrationv1.ValidatingAdmissionPolicy) {
			have.Spec = *spec.DeepCopy()
			cluster.BelongTo(have, roles...)
		})
	if err != nil {
		return explainPolicy(err, p.Member.Name)
	}
	t.Add(outcome)
	_, outcome, err = cluster.Put(ctx, p.Member, &admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: meta},
		func(have *admissionregistrationv1.ValidatingAdmissionPolicyBinding) {
			have.Spec = permissions.PolicyBindingSpec()
			cluster.BelongTo(have, roles...)
		})
	if err != nil {
		return explainPolicy(err, p.Member.Name)
	}
	t.Add(outcome)
	p.Steps.Done(t.Outcome(), fmt.Sprintf("%s: admission policy %s (namespaces: %s)", p.Member.Name, v1alpha1.AdmissionPolicy, namespaces), "")
	return nil
}

// markMade puts LabelMade on the namespaces that a manager of an earlier version created for a ClusterFederated. That
// version did not set the label. The admission policy recognises open namespaces by their labels only. Without the label it
// would close these namespaces to the host.
func markMade(ctx context.Context, p cluster.Pair) error {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NamespaceList"))
	if err := p.Member.Client.List(ctx, list, client.HasLabels{v1alpha1.LabelUID}); err != nil {
		return fmt.Errorf("listing the namespaces of %s that wrappers created: %w", p.Member.Name, err)
	}
	for i := range list.Items {
		ns := &list.Items[i]
		if ns.Labels[v1alpha1.LabelMade] == "true" || !marks.CreatedBefore(ns) {
			continue
		}
		before := ns.DeepCopy()
		metav1.SetMetaDataLabel(&ns.ObjectMeta, v1alpha1.LabelMade, "true")
		ns.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
		if err := p.Member.Client.Patch(ctx, ns, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}), p.Member.PatchOptions()...); err != nil {
			return fmt.Errorf("labelling namespace %s of %s as made by the host: %w", ns.Name, p.Member.Name, err)
		}
		p.Steps.Done(steps.Configured, fmt.Sprintf("%s: namespace %s: label %s", p.Member.Name, ns.Name, v1alpha1.LabelMade), "a wrapper of the host created it")
	}
	return nil
}

// AwaitEnforced waits until the member's API server enforces the admission policy for the host's account. To find out,
// AwaitEnforced creates the test Delivery (see permissions.Question) as a dry run, with the host's token. The policy
// refuses the Delivery with a message that contains the policy's digest. The join gives the host that token only
// afterwards. If a member has several API servers, AwaitEnforced asks one of them. The others load the policy within about
// a second.
func AwaitEnforced(
	ctx context.Context, member cluster.Cluster, namespaces v1alpha1.NamespacePolicy, collector v1alpha1.CollectorMode, hostToken string,
) error {
	if member.DryRun {
		return nil
	}
	_, digest := permissions.PolicySpec(namespaces, collector)
	account, err := member.WithToken(hostToken, permissions.HostAccount)
	if err != nil {
		return err
	}
	var last error
	err = wait.PollUntilContextTimeout(ctx, cluster.PollEvery, policyTimeout, true, func(ctx context.Context) (bool, error) {
		last = account.Create(ctx, permissions.Question(), client.DryRunAll)
		if last != nil && !apierrors.IsForbidden(last) {
			return false, fmt.Errorf("asking %s whether it enforces the admission policy %s: %w", member.Name, v1alpha1.AdmissionPolicy, last)
		}
		return last != nil && strings.Contains(last.Error(), digest), nil
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return fmt.Errorf("%s does not enforce the admission policy %s, which the join wrote %s ago, and the join gives the host no token without it. Check that "+
			"--disable-admission-plugins does not switch ValidatingAdmissionPolicy off on that API server, then join again. The API server's last answer: %v",
			member.Name, v1alpha1.AdmissionPolicy, policyTimeout, last)
	}
	return err
}

// explainPolicy returns an error that tells why the join cannot write the admission policy to the member.
func explainPolicy(err error, member string) error {
	switch {
	case apierrors.IsForbidden(err):
		return fmt.Errorf("installing the admission policy that keeps the host out of namespaces that are not open to it: the user of the cluster's kubeconfig "+
			"may not write it. Use a kubeconfig with cluster-admin rights (--cluster-kubeconfig), or give that user {apiGroups: [%s], "+
			"resources: [validatingadmissionpolicies, validatingadmissionpolicybindings], verbs: [get, create, update]}: %w",
			admissionregistrationv1.GroupName, err)
	case cluster.Absent(err):
		return fmt.Errorf("installing the admission policy that keeps the host out of namespaces that are not open to it: %s does not serve "+
			"validatingadmissionpolicies of %s. Check that its --runtime-config does not switch the API off: %w",
			member, admissionregistrationv1.SchemeGroupVersion, err)
	}
	return err
}
