// SPDX-License-Identifier: Apache-2.0

package join

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/join/cluster"
	"github.com/fairlead-dev/fairlead/internal/join/memberinstall"
)

// NotReadyError means that the join has written everything, but the member did not become Ready in time.
type NotReadyError struct {
	Name string
	// Collector is where the member's collector runs.
	Collector v1alpha1.CollectorMode
	// Reason is the reason of the condition Ready; "" while the manager has not written the condition.
	Reason string
	// Message is the message of the condition Ready; "" while the manager has not written the condition.
	Message string
	// Tried is the address at which the manager tries to reach the member.
	Tried string
	// Here is the address at which the join reached the member.
	Here string
	// FromPod is true if the manager runs in a pod of the host.
	FromPod bool
}

func (e *NotReadyError) Error() string {
	var b strings.Builder
	if e.Reason == "" {
		fmt.Fprintf(&b, "member %s is registered, but the manager has not probed it yet. Check that the manager runs.", e.Name)
	} else {
		fmt.Fprintf(&b, "member %s is registered, but not Ready: %s: %s.", e.Name, e.Reason, strings.TrimSuffix(e.Message, "."))
	}
	if e.Reason == v1alpha1.ReasonNoHeartbeat && e.Collector == v1alpha1.CollectorExternal {
		b.WriteString(" A collector writes its heartbeat within seconds of its start, and then every minute. " +
			"If it runs and the member refuses it, its token belongs to an account that an unjoin or a join has deleted. " + memberinstall.NewCollectorToken)
	}
	if v1alpha1.IsUnreachable(e.Reason) && e.Tried != "" {
		b.WriteString(e.elsewhere())
	}
	fmt.Fprintf(&b, " The join has written everything. To keep waiting: `kubectl wait --for=condition=Ready member/%s --timeout=5m` at the host", e.Name)
	return b.String()
}

// elsewhere returns a sentence with the addresses Tried and Here, and the flags with which the user gives another address.
func (e *NotReadyError) elsewhere() string {
	manager := "the manager"
	if e.FromPod {
		manager = "the manager, in its pod on the host,"
	}
	return fmt.Sprintf(" %s tries %s; this join has reached the member at %s. If the host reaches it at another address, "+
		"join again with --server https://ADDRESS:PORT, or with --proxy-url.", strings.ToUpper(manager[:1])+manager[1:], e.Tried, e.Here)
}

// awaitReady waits until the MemberCluster has the condition Ready, which the host's manager writes.
func (j *joiner) awaitReady(ctx context.Context, p plan, registered *v1alpha1.MemberCluster) error {
	timeout := j.opts.Wait
	if p.collector.Mode == v1alpha1.CollectorMember && j.opts.CollectorWait != 0 {
		timeout = j.opts.CollectorWait
	}
	if j.opts.DryRun || j.opts.Wait == 0 {
		return nil
	}
	m := &v1alpha1.MemberCluster{}
	var last *metav1.Condition
	rollout := &collectorRollout{collector: p.collector, member: j.Member, steps: j.Steps, now: j.now, patience: cmp.Or(j.opts.patience, patience)}
	reach := &hostReach{member: j.Member.Name, endpoint: p.found.address.endpoint, steps: j.Steps, now: j.now, patience: cmp.Or(j.opts.patience, patience)}
	err := wait.PollUntilContextTimeout(ctx, cluster.PollEvery, timeout, true, func(ctx context.Context) (bool, error) {
		if err := j.Host.Client.Get(ctx, client.ObjectKeyFromObject(registered), m); err != nil {
			return false, fmt.Errorf("waiting for MemberCluster %s to be Ready: %w", p.name, err)
		}
		if uid := m.Status.UID; uid != "" && uid != p.found.memberUID {
			// The manager regards the first cluster that accepts its credentials as the member. The address that the host
			// uses may lead to another cluster than the address in the user's kubeconfig, for example because of a wrong
			// --server.
			return false, fmt.Errorf("waiting for MemberCluster %[1]s to be Ready: the host reaches another cluster at %[2]s (uid %[3]s) "+
				"than this join at %[4]s (uid %[5]s). Run `hostctl unjoin %[1]s --forget`, then join again with a --server that leads to the cluster of the kubeconfig",
				p.name, m.Spec.Endpoint, uid, j.Member.Config.Host, p.found.memberUID)
		}
		last = judged(m)
		done, err := rollout.look(ctx)
		if err == nil {
			err = reach.look(last)
		}
		return done && last != nil && last.Status == metav1.ConditionTrue, err
	})
	switch {
	case err == nil:
		j.Steps.Checked("host: MemberCluster %s is Ready", p.name)
		return nil
	case ctx.Err() != nil || !wait.Interrupted(err) && !errors.Is(err, errHopeless):
		return err
	}
	notReady := &NotReadyError{Name: p.name, Collector: p.collector.Mode, Tried: p.found.address.endpoint, Here: j.Member.Config.Host, FromPod: p.found.manager != nil}
	if last != nil {
		notReady.Reason, notReady.Message = last.Reason, last.Message
	}
	if rollout.state.Reason != "" && (last == nil || meta.IsStatusConditionTrue(m.Status.Conditions, v1alpha1.ConditionCredentialsValid)) {
		notReady.Reason, notReady.Message = rollout.state.Reason, rollout.state.Message
	}
	return notReady
}

// judged returns the condition Ready. It returns nil if the manager has not written the condition for the present
// generation.
func judged(m *v1alpha1.MemberCluster) *metav1.Condition {
	ready := meta.FindStatusCondition(m.Status.Conditions, v1alpha1.ConditionReady)
	if ready == nil || ready.ObservedGeneration < m.Generation {
		return nil
	}
	return ready
}
