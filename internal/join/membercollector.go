// SPDX-License-Identifier: Apache-2.0

package join

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/credentials"
	"github.com/fairlead-dev/fairlead/internal/join/membercollector"
)

// discoverManager reads the manager's Deployment on the host. If it exists, the manager runs in a pod, and the join derives
// the collector's image from the manager's image. If the manager runs outside the cluster, as in the sandbox, the
// Deployment does not exist.
func (p *joiner) discoverManager(ctx context.Context) error {
	manager := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: membercollector.Manager}}
	switch err := p.host.get(ctx, manager); {
	case err == nil:
		p.manager = manager
		return nil
	case errors.Is(err, errAbsent):
		return nil
	case apierrors.IsForbidden(err) && p.opts.Collector != "" && p.opts.Collector != v1alpha1.CollectorMember:
		p.note("your account may not read Deployment %s at the host: the join cannot check whether its manager runs in a pod", membercollector.Manager)
		return nil
	default:
		return fmt.Errorf("reading Deployment %s/%s at the host: %w", manager.Namespace, manager.Name, err)
	}
}

// checkFromPod refuses a loopback address of the member if the manager runs in a pod: there the address leads to the pod
// itself. addressOf accepts such an address if the host's own address is a loopback address too.
func (p *joiner) checkFromPod(context.Context) error {
	if p.manager == nil {
		return nil
	}
	const pod = "a loopback address: in the pod of the host's manager it leads to that pod itself"
	switch {
	case p.address.proxyURL != "" && isLoopback(p.address.proxyURL):
		return fmt.Errorf("--proxy-url %s is %s", credentials.WithoutUser(p.address.proxyURL), pod)
	case p.address.proxyURL == "" && isLoopback(p.address.endpoint):
		return fmt.Errorf("the member's API server %s is %s; give the address by which the host's pods reach the member: --server https://ADDRESS:PORT "+
			"(of a kind cluster, `kind get kubeconfig --internal` has it)", p.address.endpoint, pod)
	}
	return nil
}

// defaultCollector returns where the collector of a new member runs. If the manager is a Deployment, the collector runs on the member.
// If not, it runs in the manager, because the join has no Deployment from which it could derive the collector's image.
func (p *joiner) defaultCollector() v1alpha1.CollectorMode {
	if p.manager != nil {
		return v1alpha1.CollectorMember
	}
	return v1alpha1.CollectorHost
}

// settleCollector completes the settings of the collector before the join writes anything. It returns an error if a setting does not fit
// the collector mode, or if no join made the present Deployment of the collector.
func (p *joiner) settleCollector(ctx context.Context) error {
	if p.collector != v1alpha1.CollectorMember {
		if !p.opts.MemberCollector.IsZero() {
			return fmt.Errorf("--image, --image-registry, --image-pull-secret and --toleration are for --collector %s, and this member's collector is %s",
				v1alpha1.CollectorMember, p.collector)
		}
		return nil
	}
	present, err := p.presentCollector(ctx)
	if err != nil {
		return err
	}
	if present != nil && !membercollector.IsOurs(present) {
		return fmt.Errorf("%s has a Deployment %s/%s that no join made: delete it, or keep it and give --collector %s",
			p.member.cluster, present.Namespace, present.Name, v1alpha1.CollectorExternal)
	}
	if p.collectorSettings, err = membercollector.Settle(p.opts.Name, p.opts.MemberCollector, p.manager, present); err != nil {
		return fmt.Errorf("choosing the collector's image for %s: %w", p.member.cluster, err)
	}
	return p.readPullSecrets(ctx)
}

// presentCollector returns the Deployment fairlead-collector on the member, or nil if it does not exist. A user who may not
// read Deployments there gets an error only if the MemberCluster or this join has `collector: Member`. In the other modes
// no join has made that Deployment, and the result is nil.
func (p *joiner) presentCollector(ctx context.Context) (*appsv1.Deployment, error) {
	there := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: membercollector.Name}}
	err := p.member.get(ctx, there)
	unread := apierrors.IsForbidden(err) && p.collector != v1alpha1.CollectorMember && p.known.Spec.Collector != v1alpha1.CollectorMember
	if errors.Is(err, errAbsent) || unread {
		return nil, nil
	}
	return there, wrapf(err, "reading %s on %s", describe(there), p.member.cluster)
}

// putCollector installs the collector on the member. If the collector runs elsewhere, putCollector removes the Deployment of an earlier
// join.
func (p *joiner) putCollector(ctx context.Context) error {
	if p.collector != v1alpha1.CollectorMember {
		if err := p.dropPullSecrets(ctx, nil); err != nil {
			return err
		}
		return p.dropMemberCollector(ctx)
	}
	if err := p.putPullSecrets(ctx); err != nil {
		return err
	}
	want := membercollector.Deployment(p.collectorSettings)
	belongTo(want, p.collectorAccount)
	outcome, err := p.member.applyDeployment(ctx, want)
	if err != nil {
		return fmt.Errorf("writing %s to %s: %w", describe(want), p.member.cluster, err)
	}
	p.done(outcome, p.member.cluster+": collector", "image "+p.collectorSettings.Image)
	return nil
}

// dropMemberCollector removes the collector's Deployment of an earlier join. Its pods end soon afterwards, and the token of
// a pod becomes invalid when the pod is deleted.
func (p *joiner) dropMemberCollector(ctx context.Context) error {
	present, err := p.presentCollector(ctx)
	if err != nil || present == nil || !membercollector.IsOurs(present) {
		return err
	}
	outcome, err := p.member.remove(ctx, present)
	if err != nil {
		return err
	}
	p.done(outcome, p.member.cluster+": collector", "")
	if !p.opts.DryRun {
		return wrapf(p.member.awaitGone(ctx, present), "waiting until %s is gone from %s", describe(present), p.member.cluster)
	}
	return nil
}

// applyDeployment writes a Deployment with server-side apply. put compares the desired object with the object on the
// cluster, and would always find a difference, because the API server fills in defaults of a Deployment.
func (w writer) applyDeployment(ctx context.Context, want *appsv1.Deployment) (Outcome, error) {
	there := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: want.Namespace, Name: want.Name}}
	err := w.get(ctx, there)
	if err == nil && there.DeletionTimestamp != nil {
		if err = w.awaitGone(ctx, there); err == nil {
			err = errAbsent
		}
	}
	isNew := errors.Is(err, errAbsent)
	if err != nil && !isNew {
		return "", err
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(want)
	if err != nil {
		return "", err
	}
	delete(content, "status")
	applied := &unstructured.Unstructured{Object: content}
	opts := []client.ApplyOption{client.FieldOwner(fieldManager), client.ForceOwnership}
	if w.dry {
		opts = append(opts, client.DryRunAll)
	}
	err = w.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(applied), opts...)
	switch {
	case isNew && w.dry && absent(err): // the namespace does not exist, because a dry run does not create it
		return Created, nil
	case err != nil:
		return "", err
	case isNew:
		return Created, nil
	}
	after := &appsv1.Deployment{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(applied.Object, after); err != nil {
		return "", err
	}
	if after.ResourceVersion == there.ResourceVersion ||
		w.dry && equality.Semantic.DeepEqual(after.Spec, there.Spec) && equality.Semantic.DeepEqual(after.Labels, there.Labels) {
		return Unchanged, nil
	}
	return Configured, nil
}

// clearCollector removes the collector's Deployment that a join installed on the member. It runs before the Deliveries are
// removed. If the API server forbids the request, clearCollector returns nil: the host has this right only on members whose
// collector a join installed. A Deployment that remains is owned by the collector's account, so the member's garbage
// collector deletes it after the account.
func clearCollector(ctx context.Context, member client.Client, name string, report Reporter) error {
	obj := named(appsv1.SchemeGroupVersion.WithKind("Deployment"), v1alpha1.SystemNamespace, membercollector.Name)
	err := member.Get(ctx, client.ObjectKeyFromObject(obj), obj)
	switch {
	case absent(err) || refused(err):
		return nil
	case err != nil:
		return fmt.Errorf("reading %s: %w", describe(obj), err)
	case !membercollector.IsOurs(obj):
		return nil
	}
	if err := member.Delete(ctx, obj, client.Preconditions{UID: ptr.To(obj.GetUID())}); err != nil && !absent(err) && !refused(err) {
		return fmt.Errorf("removing %s: %w", describe(obj), err)
	}
	tell(report, Removed, "member %s: collector", name)
	return nil
}
