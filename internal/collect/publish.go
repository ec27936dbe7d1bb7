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
	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/health"
	"github.com/fairlead-dev/fairlead/internal/collect/deliveryindex"
	"github.com/fairlead-dev/fairlead/internal/collect/memberclient"
)

// fieldManager is the field manager of collectors for the status of Deliveries and of the Membership.
const fieldManager = "fairlead-collector"

// publishEvery is the shortest time between two writes of a Delivery's status.
const publishEvery = time.Second

// publisher writes the status of Deliveries.
type publisher struct {
	client     *memberclient.Client
	clock      clock.PassiveClock
	deliveries *deliveries
}

// publish writes the result of a pass, unless the status has it already. It writes nothing for a Delivery that has
// changed since the pass began. The patch names the resourceVersion that was known before the pass read any object. So
// a reported drift is true for the record of that version.
func (w *publisher) publish(ctx context.Context, p *pass) error {
	status := p.status()
	if equality.Semantic.DeepEqual(status, p.delivery.Status) {
		return nil
	}
	if !w.deliveries.looks.index.IsCurrent(p.delivery) {
		return nil // a newer Delivery has arrived, and the next pass judges it
	}
	patch, err := statusPatch(p.delivery, status)
	if err != nil {
		return fmt.Errorf("writing the status of Delivery %s: %w", p.delivery.Name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, memberclient.RequestTimeout)
	defer cancel()
	obj, err := w.client.Dynamic.Resource(deliveriesGVR).Namespace(v1alpha1.SystemNamespace).Patch(
		ctx, p.delivery.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: fieldManager}, "status")
	switch {
	case apierrors.IsNotFound(err):
		return nil // the watch event of its deletion has not arrived yet
	case apierrors.IsConflict(err):
		return w.overtaken(ctx, p.delivery.Name, p.memory)
	case err != nil:
		return fmt.Errorf("writing the status of Delivery %s: %w", p.delivery.Name, err)
	}
	p.memory.published = w.clock.Now()
	written, err := toDelivery(obj)
	if err != nil {
		return err
	}
	w.deliveries.learn(written)
	return nil
}

// errOvertaken queues the Delivery again, because it changed during the pass.
var errOvertaken = errors.New("the Delivery changed during the pass")

// overtaken reads a Delivery that has changed since the pass began, so that the next pass judges the new state. It does
// so at most once in publishEvery. Otherwise the next try waits for the watch, or for the backoff of the queue. So the
// collector pauses between requests to a member that refuses every patch.
func (w *publisher) overtaken(ctx context.Context, name string, memory *memory) error {
	if w.clock.Since(memory.reread) < publishEvery {
		return errOvertaken
	}
	memory.reread = w.clock.Now()
	obj, err := w.client.Read(ctx, deliveriesGVR, v1alpha1.SystemNamespace, name)
	if apierrors.IsNotFound(err) {
		return nil // the watch event of its deletion has not arrived yet
	}
	if err != nil {
		return err
	}
	fresh, err := toDelivery(obj)
	if err != nil {
		return err
	}
	w.deliveries.learn(fresh)
	return errOvertaken
}

// status builds the status from the lines. It is empty if all objects are healthy and of kinds without progress.
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
		status.Version = before.Version // the last installed version stays until another is installed
	}
	return status
}

// statusPatch is the patch to a status. It applies only to the version of the Delivery that was judged.
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

// listsVersioned reports whether the inventory holds an object that carries a version.
func (p *pass) listsVersioned() bool {
	for i := range p.delivery.Spec.Inventory {
		if health.HasVersion(deliveryindex.KindOf(&p.delivery.Spec.Inventory[i])) {
			return true
		}
	}
	return false
}
