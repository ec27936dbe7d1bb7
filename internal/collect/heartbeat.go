// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/health"
	"github.com/fairlead-dev/fairlead/internal/collect/memberclient"
)

const (
	// renewEvery is the time between two heartbeats. After three minutes without a heartbeat, the host reports the
	// collector with reason NoHeartbeat.
	renewEvery = 60 * time.Second
	// settle is how long the collector waits after a change of facts before it writes them, because often many facts
	// change together.
	settle = 2 * time.Second
	// renewRetry is the wait after a failed renewal.
	renewRetry = 10 * time.Second
	// versionEvery is the number of heartbeats after which the collector reads the member's Kubernetes version again, because an upgrade
	// of the member changes it.
	versionEvery = 10
)

// ErrOtherMember is the cause of Run's error when the Membership has another name than ClusterName.
var ErrOtherMember = errors.New("this cluster joined under another name")

var membershipsGVR = v1alpha1.GroupVersion.WithResource("memberships")

// heartbeat renews the Membership and writes the facts of the member to it.
type heartbeat struct {
	clusterName, version string

	client *memberclient.Client
	clock  clock.WithTicker
	facts  *facts

	liveness liveness
}

// membership has the data that the collector keeps between two heartbeats.
type membership struct {
	// read reports whether the next renewal may rely on the fields facts and by. It is false until the collector has read the Membership,
	// and after a failed renewal. The next renewal then reads the Membership first.
	read bool
	// facts has the fields of status.facts, as the member last returned the Membership.
	facts map[string]any
	// The field by is status.collectorVersion of the Membership that the member returned last; "" when that Membership has none.
	by string
	// beats is how many heartbeats this collector has written.
	beats int
}

// run writes a heartbeat every minute, and changed facts sooner. It ends when ctx ends, or with an error if the
// Membership has another name than ClusterName.
func (h *heartbeat) run(ctx context.Context) error {
	m := &membership{}
	// The first renewal waits a moment, so that it can include the facts of the watches' first lists.
	next := h.clock.NewTimer(settle)
	defer next.Stop()
	due := h.clock.Now().Add(settle)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-h.facts.changed:
			// An extra write is needed only if facts differ from the Membership and the next heartbeat is not near.
			if soon := h.clock.Now().Add(settle); m.read && soon.Before(due) && len(h.changedFacts(m)) > 0 {
				due = soon
				next.Reset(settle)
			}
			continue
		case <-next.C():
		}
		pause := renewEvery
		err := h.renew(ctx, m)
		h.liveness.note(h.clock.Now(), err)
		if err != nil {
			if errors.Is(err, ErrOtherMember) {
				return err
			}
			m.read = false
			pause = renewRetry
			if ctx.Err() == nil {
				klog.FromContext(ctx).V(1).Info("The collector could not write its heartbeat to the Membership; it tries again", "reason", err.Error())
			}
		}
		due = h.clock.Now().Add(pause)
		next.Reset(pause)
	}
}

// renew writes one heartbeat, together with the facts that have changed.
func (h *heartbeat) renew(ctx context.Context, m *membership) error {
	ctx, cancel := context.WithTimeout(ctx, memberclient.RequestTimeout)
	defer cancel()
	if !m.read {
		obj, err := h.client.Read(ctx, membershipsGVR, "", v1alpha1.MembershipName)
		if err != nil {
			return fmt.Errorf("reading the Membership: %w", err)
		}
		name, _, _ := unstructured.NestedString(obj.Object, "spec", "clusterName")
		if h.clusterName != "" && name != h.clusterName {
			return fmt.Errorf("observing member %s: %w: its Membership has clusterName %q", h.clusterName, ErrOtherMember, name)
		}
		m.take(obj)
	}
	if m.beats%versionEvery == 0 {
		if err := h.readVersion(ctx); err != nil {
			return err
		}
	}
	status := map[string]any{"renewTime": metav1.NewMicroTime(h.clock.Now())}
	if v := health.Clean(h.version, 128); v != "" && v != m.by {
		status["collectorVersion"] = v
	}
	if changed := h.changedFacts(m); len(changed) > 0 {
		status["facts"] = changed
	}
	patch, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		return fmt.Errorf("encoding the heartbeat for the Membership: %w", err)
	}
	obj, err := h.client.Dynamic.Resource(membershipsGVR).Patch(ctx, v1alpha1.MembershipName, types.MergePatchType, patch,
		metav1.PatchOptions{FieldManager: fieldManager}, "status")
	if err != nil {
		return fmt.Errorf("writing the heartbeat to the Membership: %w", err)
	}
	m.take(obj)
	m.beats++
	return nil
}

// take stores the facts and the collectorVersion of a Membership that the member returned.
func (m *membership) take(obj *unstructured.Unstructured) {
	m.read = true
	m.facts, _, _ = unstructured.NestedMap(obj.Object, "status", "facts")
	m.by, _, _ = unstructured.NestedString(obj.Object, "status", "collectorVersion")
}

// changedFacts returns the fields of the facts whose values differ from those in the Membership.
func (h *heartbeat) changedFacts(m *membership) map[string]any {
	told := h.facts.told()
	for field, value := range told {
		if reflect.DeepEqual(value, m.facts[field]) {
			delete(told, field)
		}
	}
	return told
}

func (h *heartbeat) readVersion(ctx context.Context) error {
	raw, err := h.client.Discovery.Get().AbsPath("/version").DoRaw(ctx)
	if apierrors.IsForbidden(err) {
		return nil // a hardened member may hide its version; this fact is then missing
	}
	if err != nil {
		return fmt.Errorf("reading the member's version: %w", err)
	}
	var info version.Info
	if err := json.Unmarshal(raw, &info); err != nil {
		return fmt.Errorf("reading the member's version: %w", err)
	}
	h.facts.setVersion(health.Clean(info.GitVersion, 64))
	return nil
}

const (
	// silentAfter is the age of the last heartbeat at which a collector stops being ready. At this age, the host
	// reports reason NoHeartbeat.
	silentAfter = 3 * time.Minute
	// stuckAfter is the longest time that one turn of the heartbeat's loop may take. A turn ends even when the member
	// does not answer, so a longer turn means that the process hangs.
	stuckAfter = 5 * time.Minute
)

// liveness shows whether the heartbeat's loop runs. turned is the time at which the loop last ended a turn. renewed is the time of the
// collector's last heartbeat. Each is nil before the first time. Any goroutine may read these fields.
type liveness struct{ turned, renewed atomic.Pointer[time.Time] }

func (l *liveness) note(now time.Time, err error) {
	l.turned.Store(&now)
	if err == nil {
		l.renewed.Store(&now)
	}
}

// Ready returns an error unless the collector has written a heartbeat within the last three minutes.
func (c *Collector) Ready() error {
	renewed := c.heartbeat.liveness.renewed.Load()
	switch {
	case renewed == nil:
		return errors.New("the collector has not written a heartbeat yet")
	case c.clock.Since(*renewed) > silentAfter:
		return fmt.Errorf("the collector has written no heartbeat since %s", renewed.UTC().Format(time.RFC3339))
	}
	return nil
}

// Alive returns an error if the collector hangs. It returns nil if only the member does not answer, because a restart
// of the collector would not help.
func (c *Collector) Alive() error {
	if turned := c.heartbeat.liveness.turned.Load(); turned != nil && c.clock.Since(*turned) > stuckAfter {
		return fmt.Errorf("the collector has hung since %s", turned.UTC().Format(time.RFC3339))
	}
	return nil
}
