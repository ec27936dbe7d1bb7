// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/health"
)

// fieldManager is the name that collectors write their two statuses under.
const fieldManager = "fairlead-collector"

// publishEvery is how often a Delivery's status is written at most.
const publishEvery = time.Second

// publish writes what a pass came to, unless the status says it already or was written a moment ago.
func (c *Collector) publish(ctx context.Context, p *pass) error {
	status := p.status()
	if equality.Semantic.DeepEqual(status, p.delivery.Status) {
		return nil
	}
	if left := publishEvery - c.clock.Since(p.memory.published); left > 0 {
		p.recheck(left)
		return nil
	}
	patch, err := statusPatch(p.delivery, status)
	if err != nil {
		return fmt.Errorf("writing the status of Delivery %s: %w", p.delivery.Name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	obj, err := c.clients.dynamic.Resource(deliveriesGVR).Namespace(v1alpha1.SystemNamespace).Patch(
		ctx, p.delivery.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: fieldManager}, "status")
	switch {
	case apierrors.IsNotFound(err):
		return nil // its deletion is on its way here
	case err != nil: // among them a conflict: the spec is newer than what was judged
		return fmt.Errorf("writing the status of Delivery %s: %w", p.delivery.Name, err)
	}
	p.memory.published = c.clock.Now()
	written, err := toDelivery(obj)
	if err != nil {
		return err
	}
	c.learn(written)
	return nil
}

// status is what the lines come to. It is empty where all is well with kinds that have no progress of
// their own.
func (p *pass) status() v1alpha1.DeliveryStatus {
	before := &p.delivery.Status
	status := v1alpha1.DeliveryStatus{Objects: p.lines}
	if !p.progress && len(p.lines) == 0 {
		return status
	}
	status.ObservedRendering, status.Version = before.ObservedRendering, p.version
	if p.complete {
		status.ObservedRendering = p.delivery.Spec.Target.Rendering
	}
	if status.Version == "" && p.listsVersioned() {
		status.Version = before.Version // what was installed last is so until something else is
	}
	return status
}

// statusPatch makes one status of another, and only of the Delivery that was judged.
func statusPatch(d *v1alpha1.Delivery, status v1alpha1.DeliveryStatus) ([]byte, error) {
	patch := map[string]any{
		"metadata": map[string]any{"resourceVersion": d.ResourceVersion, "uid": d.UID},
		"status":   nil,
	}
	if status.ObservedRendering != "" || status.Version != "" || len(status.Objects) > 0 {
		fields := map[string]any{"observedRendering": nil, "version": nil, "objects": nil}
		if status.ObservedRendering != "" {
			fields["observedRendering"] = status.ObservedRendering
		}
		if status.Version != "" {
			fields["version"] = status.Version
		}
		if len(status.Objects) > 0 {
			fields["objects"] = status.Objects
		}
		patch["status"] = fields
	}
	return json.Marshal(patch)
}

// listsVersioned says whether the inventory holds an object that carries a version.
func (p *pass) listsVersioned() bool {
	for i := range p.delivery.Spec.Inventory {
		if health.HasVersion(kindOf(&p.delivery.Spec.Inventory[i])) {
			return true
		}
	}
	return false
}
