// SPDX-License-Identifier: Apache-2.0

package join

import (
	"context"
	"errors"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/join/cluster"
	"github.com/fairlead-dev/fairlead/internal/join/membercollector"
	"github.com/fairlead-dev/fairlead/internal/join/memberinstall"
	"github.com/fairlead-dev/fairlead/internal/join/steps"
)

// errHopeless makes the join stop waiting for Ready before its time limit. For longer than the constant patience, either
// the collector has failed to start, or the manager has failed to reach the member.
var errHopeless = errors.New("it does not change")

const (
	// readInterval is the time between two reads of the collector's Deployment.
	readInterval = time.Second
	// patience is the time for which the join waits while the collector's pod fails for one reason, or while the manager
	// does not reach the member. A kubelet pulls an image again 10 s after the first failure and 20 s after the second. So
	// one failure of a registry does not end the join.
	patience = 40 * time.Second
)

// collectorRollout observes the Deployment of the collector that the join has installed on the member.
type collectorRollout struct {
	collector memberinstall.Collector
	member    cluster.Cluster
	steps     *steps.Recorder
	now       func() time.Time
	patience  time.Duration

	state membercollector.State
	// lastRead is the time at which the join last read the state; zero before the first read.
	lastRead time.Time
	// since is the time at which the state first had its present reason.
	since time.Time
}

// look reads the collector's state at most once per readInterval. done is true once the collector runs as this join
// installed it. If the collector does not run on the member, done is always true. look tells the user each new reason why
// the collector does not run. If one reason lasts longer than r.patience, look returns errHopeless.
func (r *collectorRollout) look(ctx context.Context) (done bool, err error) {
	if r.collector.Mode != v1alpha1.CollectorMember {
		return true, nil
	}
	now := r.now()
	if now.Sub(r.lastRead) < readInterval {
		return !r.lastRead.IsZero() && r.state.Reason == "", nil
	}
	before := r.state
	state, err := r.collector.State(ctx, r.member)
	if err != nil { // the join does not fail, because it has written everything, and the next read may succeed
		state = membercollector.State{Reason: v1alpha1.ReasonCollectorStarting, Message: err.Error()}
	}
	r.state, r.lastRead = state, now
	fails := slices.Contains([]string{v1alpha1.ReasonImageNotPulled, v1alpha1.ReasonPodRefused, v1alpha1.ReasonPodUnschedulable, v1alpha1.ReasonCollectorCrashed}, r.state.Reason)
	if r.state.Reason != before.Reason {
		r.since = now
		if fails {
			r.steps.Note("%s: the collector does not run: %s: %s", r.member.Name, r.state.Reason, r.state.Message)
		}
	}
	if fails && now.Sub(r.since) >= r.patience {
		return false, errHopeless
	}
	return r.state.Reason == "", nil
}

// hostReach observes whether the manager reaches the member. The join cannot know this from its own requests: the manager
// may use another network path, for example from a pod of the host.
type hostReach struct {
	// member is the member's name in messages, and endpoint the address at which the manager tries to reach it.
	member, endpoint string
	steps            *steps.Recorder
	now              func() time.Time
	patience         time.Duration

	// since is the time at which the join first read that the manager does not reach the member; zero while the manager
	// reaches it.
	since time.Time
}

// look tells the user, once per outage, that the manager does not reach the member. If the outage lasts longer than
// r.patience, look returns errHopeless.
func (r *hostReach) look(ready *metav1.Condition) error {
	if ready == nil || ready.Status == metav1.ConditionTrue || !v1alpha1.IsUnreachable(ready.Reason) && ready.Reason != v1alpha1.ReasonRedirected {
		r.since = time.Time{}
		return nil
	}
	if r.since.IsZero() {
		r.since = r.now()
		r.steps.Note("host: the manager does not reach %s at %s: %s: %s", r.member, r.endpoint, ready.Reason, ready.Message)
	}
	if r.now().Sub(r.since) >= r.patience {
		return errHopeless
	}
	return nil
}
