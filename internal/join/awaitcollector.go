// SPDX-License-Identifier: Apache-2.0

package join

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/join/membercollector"
)

// errHopeless ends the wait for a collector that does not start, or for a manager that does not reach the member.
var errHopeless = errors.New("it does not change")

const (
	// readInterval is the time between two reads of the collector's Deployment.
	readInterval = time.Second
	// patience is how long a pod may fail for one reason, or the manager may fail to reach the member, before the join gives up. A
	// kubelet tries to pull an image again after 10 and after 20 seconds, so one failure of a registry does not end the join.
	patience = 40 * time.Second
)

// collectorRollout is what the join sees of a collector that it has installed on the member.
type collectorRollout struct {
	joiner *joiner
	state  membercollector.State
	// lastRead is when the join read the state, since is when the state got its reason.
	lastRead, since time.Time
}

// look reports whether the collector on the member runs as this join installed it; it is true where the collector runs elsewhere.
// It notes each new reason for which the collector does not run.
func (r *collectorRollout) look(ctx context.Context) (done bool, err error) {
	p := r.joiner
	if p.collector != v1alpha1.CollectorMember {
		return true, nil
	}
	now := p.now()
	if now.Sub(r.lastRead) < readInterval {
		return !r.lastRead.IsZero() && r.state.Reason == "", nil
	}
	before := r.state
	state, err := p.collectorState(ctx)
	if err != nil { // the next look may succeed; the join has written everything
		state = membercollector.State{Reason: v1alpha1.ReasonCollectorStarting, Message: err.Error()}
	}
	r.state, r.lastRead = state, now
	fails := slices.Contains([]string{v1alpha1.ReasonImageNotPulled, v1alpha1.ReasonPodRefused, v1alpha1.ReasonPodUnschedulable, v1alpha1.ReasonCollectorCrashed}, r.state.Reason)
	if r.state.Reason != before.Reason {
		r.since = now
		if fails {
			p.note("%s: the collector does not run: %s: %s", p.member.cluster, r.state.Reason, r.state.Message)
		}
	}
	if fails && now.Sub(r.since) >= cmp.Or(p.opts.patience, patience) {
		return false, errHopeless
	}
	return r.state.Reason == "", nil
}

func (p *joiner) collectorState(ctx context.Context) (membercollector.State, error) {
	deployment, err := p.presentCollector(ctx)
	if err != nil {
		return membercollector.State{}, err
	}
	var pods corev1.PodList
	if deployment != nil && !membercollector.RolledOut(deployment) {
		if err := p.member.client.List(ctx, &pods, client.InNamespace(v1alpha1.SystemNamespace), client.MatchingLabels(membercollector.Labels())); err != nil {
			return membercollector.State{}, fmt.Errorf("listing the collector's pods on %s: %w", p.member.cluster, err)
		}
	}
	return membercollector.StateOf(deployment, pods.Items), nil
}

// wait is how long the join waits for the member to be Ready.
func (p *joiner) wait() time.Duration {
	if p.collector == v1alpha1.CollectorMember && p.opts.CollectorWait != 0 {
		return p.opts.CollectorWait
	}
	return p.opts.Wait
}

// hostReach follows whether the host's manager reaches the member. The join itself has reached the member, perhaps on another path:
// the manager may run in a pod of the host.
type hostReach struct {
	joiner *joiner
	// since is when the join first read that the manager does not reach the member; zero while it does.
	since time.Time
}

// look notes that the manager does not reach the member, and ends the wait when that does not change.
func (r *hostReach) look(ready *metav1.Condition) error {
	if ready == nil || ready.Status == metav1.ConditionTrue || ready.Reason != v1alpha1.ReasonUnreachable && ready.Reason != v1alpha1.ReasonRedirected {
		r.since = time.Time{}
		return nil
	}
	p := r.joiner
	if r.since.IsZero() {
		r.since = p.now()
		p.note("host: the manager does not reach %s at %s: %s: %s", p.member.cluster, p.address.endpoint, ready.Reason, ready.Message)
	}
	if p.now().Sub(r.since) >= cmp.Or(p.opts.patience, patience) {
		return errHopeless
	}
	return nil
}
