// SPDX-License-Identifier: Apache-2.0

package memberinstall

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/join/cluster"
	"github.com/fairlead-dev/fairlead/internal/join/membercollector"
)

// Collector has the mode of a member's collector, and the settings with which a collector runs on the member.
type Collector struct {
	// Mode is where the collector runs after the join.
	Mode v1alpha1.CollectorMode
	// Earlier is where the collector ran before the join, as the MemberCluster says; "" if there was none.
	Earlier v1alpha1.CollectorMode
	// OwnMember is true if the host has joined itself. The host's pull secrets are then already on the member.
	OwnMember bool

	// Settings are filled by Settle, for a collector on the member.
	Settings membercollector.Settings
	// pullSecrets has the pull secrets of the collector that exist on the member, by name. It is filled by Settle too.
	pullSecrets map[string]*corev1.Secret
}

// Settle completes the settings of the collector before the join writes anything. given are the user's settings, and manager
// is the manager's Deployment on the host, which may be nil. Settle returns an error if a setting does not fit the collector
// mode, or if no join made the present Deployment of the collector.
func (c *Collector) Settle(ctx context.Context, member cluster.Cluster, name string, given membercollector.Given, manager *appsv1.Deployment) error {
	if c.Mode != v1alpha1.CollectorMember {
		if !given.IsZero() {
			return fmt.Errorf("--image, --image-registry, --image-pull-secret and --toleration are for --collector %s, and this member's collector is %s",
				v1alpha1.CollectorMember, c.Mode)
		}
		return nil
	}
	present, err := c.present(ctx, member)
	if err != nil {
		return err
	}
	if present != nil && !membercollector.IsOurs(present) {
		return fmt.Errorf("%s has a Deployment %s/%s that no join made: delete it, or keep it and give --collector %s",
			member.Name, present.Namespace, present.Name, v1alpha1.CollectorExternal)
	}
	if c.Settings, err = membercollector.Settle(name, given, manager, present); err != nil {
		return fmt.Errorf("choosing the collector's image for %s: %w", member.Name, err)
	}
	return c.readPullSecrets(ctx, member)
}

// Put installs the collector on the member. The owner, the collector's account, owns the new objects. If the collector runs
// elsewhere, Put removes the Deployment of an earlier join.
func (c *Collector) Put(ctx context.Context, p cluster.Pair, owner client.Object) error {
	if c.Mode != v1alpha1.CollectorMember {
		if err := c.dropPullSecrets(ctx, p, nil); err != nil {
			return err
		}
		return c.drop(ctx, p)
	}
	if err := c.putPullSecrets(ctx, p, owner); err != nil {
		return err
	}
	want := membercollector.Deployment(c.Settings)
	cluster.BelongTo(want, owner)
	outcome, err := applyDeployment(ctx, p.Member, want)
	if err != nil {
		return fmt.Errorf("writing %s to %s: %w", cluster.Describe(want), p.Member.Name, err)
	}
	p.Steps.Done(outcome, p.Member.Name+": collector", "image "+c.Settings.Image)
	return nil
}

// State reads whether the collector runs on the member and, if it does not run, why not.
func (c *Collector) State(ctx context.Context, member cluster.Cluster) (membercollector.State, error) {
	deployment, err := c.present(ctx, member)
	if err != nil {
		return membercollector.State{}, err
	}
	var pods corev1.PodList
	if deployment != nil && !membercollector.RolledOut(deployment) {
		if err := member.Client.List(ctx, &pods, client.InNamespace(v1alpha1.SystemNamespace), client.MatchingLabels(membercollector.Labels())); err != nil {
			return membercollector.State{}, fmt.Errorf("listing the collector's pods on %s: %w", member.Name, err)
		}
	}
	return membercollector.StateOf(deployment, pods.Items), nil
}

// present returns the Deployment fairlead-collector on the member, or nil if it does not exist. If the user has no right
// to read Deployments there, present returns an error only if the MemberCluster or this join has `collector: Member`. In
// the other modes no join has made that Deployment, and the result is nil.
func (c *Collector) present(ctx context.Context, member cluster.Cluster) (*appsv1.Deployment, error) {
	there := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: membercollector.Name}}
	err := member.Get(ctx, there)
	unread := apierrors.IsForbidden(err) && c.Mode != v1alpha1.CollectorMember && c.Earlier != v1alpha1.CollectorMember
	if errors.Is(err, cluster.ErrAbsent) || unread {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s on %s: %w", cluster.Describe(there), member.Name, err)
	}
	return there, nil
}

// drop removes the collector's Deployment of an earlier join. Its pods end soon afterwards, and the token of a pod becomes
// invalid when the pod is deleted.
func (c *Collector) drop(ctx context.Context, p cluster.Pair) error {
	present, err := c.present(ctx, p.Member)
	if err != nil || present == nil || !membercollector.IsOurs(present) {
		return err
	}
	outcome, err := p.Member.Remove(ctx, present)
	if err != nil {
		return err
	}
	p.Steps.Done(outcome, p.Member.Name+": collector", "")
	if err := p.Member.AwaitGone(ctx, present); err != nil { // a dry run does not wait
		return fmt.Errorf("waiting until %s is gone from %s: %w", cluster.Describe(present), p.Member.Name, err)
	}
	return nil
}
