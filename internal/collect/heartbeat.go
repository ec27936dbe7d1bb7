// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/klog/v2"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/health"
)

const (
	// heartbeat is how often the Membership is renewed; the host calls a collector dead after three
	// minutes.
	heartbeat = 60 * time.Second
	// settle is how long facts may change before they are written: they change in flocks.
	settle = 2 * time.Second
	// heartbeatRetry is how soon a failed renewal is tried again.
	heartbeatRetry = 10 * time.Second
	// versionEvery is after how many heartbeats the member's version is read again: it changes when the
	// member is upgraded.
	versionEvery = 10
)

// ErrOtherMember is the cause of Run's error when the Membership says another name than the Collector
// was made for.
var ErrOtherMember = errors.New("the cluster is another member")

// membership is what is known of the Membership as it stands.
type membership struct {
	read  bool
	facts map[string]any
	by    string
	beats int
}

// keepMembership renews the Membership every minute and tells facts when they changed, until ctx ends or
// the cluster turns out to be another member.
func (c *Collector) keepMembership(ctx context.Context) error {
	m := &membership{}
	// The first renewal waits a moment, so that it can tell what the feeds find.
	next := c.clock.NewTimer(settle)
	defer next.Stop()
	due := c.clock.Now().Add(settle)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-c.factsChanged:
			// Only what differs is news, and the next heartbeat may be near enough.
			if soon := c.clock.Now().Add(settle); m.read && soon.Before(due) && len(c.changedFacts(m)) > 0 {
				due = soon
				next.Reset(settle)
			}
			continue
		case <-next.C():
		}
		pause := heartbeat
		if err := c.renew(ctx, m); err != nil {
			if errors.Is(err, ErrOtherMember) {
				return err
			}
			m.read = false
			pause = heartbeatRetry
			if ctx.Err() == nil {
				klog.FromContext(ctx).V(1).Info("Renewing the Membership again", "reason", err.Error())
			}
		}
		due = c.clock.Now().Add(pause)
		next.Reset(pause)
	}
}

// renew writes the sign of life, and with it what has changed.
func (c *Collector) renew(ctx context.Context, m *membership) error {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	if !m.read {
		obj, err := c.clients.read(ctx, membershipsGVR, "", v1alpha1.MembershipName)
		if err != nil {
			return fmt.Errorf("reading the Membership: %w", err)
		}
		name, _, _ := unstructured.NestedString(obj.Object, "spec", "clusterName")
		if c.clusterName != "" && name != c.clusterName {
			return fmt.Errorf("observing member %s: %w: its Membership says %q", c.clusterName, ErrOtherMember, name)
		}
		m.take(obj)
	}
	if m.beats%versionEvery == 0 {
		if err := c.readVersion(ctx); err != nil {
			return err
		}
	}
	status := map[string]any{"renewTime": metav1.NewMicroTime(c.clock.Now())}
	if v := health.Clean(c.version, 128); v != "" && v != m.by {
		status["collectorVersion"] = v
	}
	if changed := c.changedFacts(m); len(changed) > 0 {
		status["facts"] = changed
	}
	patch, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		return fmt.Errorf("writing the Membership: %w", err)
	}
	obj, err := c.clients.dynamic.Resource(membershipsGVR).Patch(ctx, v1alpha1.MembershipName, types.MergePatchType, patch,
		metav1.PatchOptions{FieldManager: fieldManager}, "status")
	if err != nil {
		return fmt.Errorf("renewing the Membership: %w", err)
	}
	m.take(obj)
	m.beats++
	return nil
}

// take remembers the Membership as the member answered it.
func (m *membership) take(obj *unstructured.Unstructured) {
	m.read = true
	m.facts, _, _ = unstructured.NestedMap(obj.Object, "status", "facts")
	m.by, _, _ = unstructured.NestedString(obj.Object, "status", "collectorVersion")
}

// changedFacts are the fields of the facts that the Membership does not say yet.
func (c *Collector) changedFacts(m *membership) map[string]any {
	c.mu.Lock()
	told := c.facts.told()
	c.mu.Unlock()
	for field, value := range told {
		if reflect.DeepEqual(value, m.facts[field]) {
			delete(told, field)
		}
	}
	return told
}

func (c *Collector) readVersion(ctx context.Context) error {
	raw, err := c.clients.discovery.RESTClient().Get().AbsPath("/version").DoRaw(ctx)
	if apierrors.IsForbidden(err) {
		return nil // a hardened member may hide it; it is a fact like others, and may be missing
	}
	if err != nil {
		return fmt.Errorf("reading the member's version: %w", err)
	}
	var info version.Info
	if err := json.Unmarshal(raw, &info); err != nil {
		return fmt.Errorf("reading the member's version: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.facts.version = health.Clean(info.GitVersion, 64)
	return nil
}
