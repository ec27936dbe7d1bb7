// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"
	"encoding/json"
	"errors"
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

// publish writes what a pass came to, unless the status says it already. What was judged by a Delivery that
// has changed since is not written: the patch names the resourceVersion that was known before any object
// was read, so that a mark says what an object was while its record stood.
func (c *Collector) publish(ctx context.Context, p *pass) error {
	status := p.status()
	if equality.Semantic.DeepEqual(status, p.delivery.Status) {
		return nil
	}
	if c.knowsNewer(p.delivery) {
		return nil // and is about to look at that one
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
	case apierrors.IsConflict(err):
		return c.overtaken(ctx, p.delivery.Name, p.memory)
	case err != nil:
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

// knowsNewer says whether a Delivery has come, or gone, since this one was taken to be judged.
func (c *Collector) knowsNewer(d *v1alpha1.Delivery) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.book.pages[d.Name]
	return known == nil || known.delivery != d
}

// errOvertaken has a Delivery looked at again, since it changed while it was looked at.
var errOvertaken = errors.New("the Delivery changed while it was looked at")

// overtaken reads a Delivery that is not any more what was judged, which has it looked at again at once.
// When that one has changed as well, it waits: for the watch, or as after any failure. A member that
// refuses every patch is not asked without a pause.
func (c *Collector) overtaken(ctx context.Context, name string, memory *memory) error {
	if c.clock.Since(memory.reread) < publishEvery {
		return errOvertaken
	}
	memory.reread = c.clock.Now()
	obj, err := c.clients.read(ctx, deliveriesGVR, v1alpha1.SystemNamespace, name)
	if apierrors.IsNotFound(err) {
		return nil // its deletion is on its way here
	}
	if err != nil {
		return err
	}
	fresh, err := toDelivery(obj)
	if err != nil {
		return err
	}
	c.learn(fresh)
	return errOvertaken
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
