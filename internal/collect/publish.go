// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/evidence"
	"github.com/fairlead-dev/fairlead/internal/collect/memberclient"
)

// fieldManager is the field manager of collectors for the status of Deliveries and of the Membership.
const fieldManager = "fairlead-collector"

const (
	// publishEvery is the shortest time between two writes of a Delivery's status.
	publishEvery = time.Second
	// wordsEvery is the shortest time between a write and a later write that changes only messages and evidence. The message about a
	// container that crashes changes with each restart. The first evidence about an object that has just become unhealthy does not wait.
	wordsEvery = 10 * time.Second
)

// publisher writes the status of Deliveries.
type publisher struct {
	client     *memberclient.Client
	clock      clock.PassiveClock
	deliveries *deliveries
}

// publish writes the result of a pass, unless the Delivery's status is the same already. It writes nothing for a
// Delivery that has changed since the pass began. The patch names the resourceVersion that the Delivery had before the
// pass read any object. So the API server accepts the status only if the Delivery still has the entries with which the
// pass compared the objects.
func (w *publisher) publish(ctx context.Context, p *pass) error {
	status := p.status()
	status.Evidence, status.Answers = p.boundedEvidence(w.clock.Now()), p.boundedAnswers(w.clock.Now())
	p.boundGathered(status.Evidence)
	defer p.memory.countEvidence()
	if equality.Semantic.DeepEqual(status, p.delivery.Status) {
		clear(p.memory.gathered)
		return nil
	}
	left := wordsEvery - w.clock.Since(p.memory.published)
	if left > 0 && !w.bringsFirstEvidence(p, &status) && sameButMessages(&status, &p.delivery.Status) && sameAnswers(&status, &p.delivery.Status) {
		p.recheck(left)
		return nil
	}
	if !w.deliveries.looks.index.IsCurrent(p.delivery) {
		return nil // a newer Delivery has arrived, and the next pass judges it
	}
	written, err := w.write(ctx, p.delivery, status)
	if len(status.Evidence)+len(status.Answers) > 0 && ctx.Err() == nil && refusesContent(err) {
		// Write the verdicts without the evidence and the answers, which the member may have refused.
		refused := err
		if status.Evidence, status.Answers = nil, nil; equality.Semantic.DeepEqual(status, p.delivery.Status) {
			w.omitEvidence(ctx, p, refused)
			return nil
		}
		if written, err = w.write(ctx, p.delivery, status); err == nil {
			w.omitEvidence(ctx, p, refused)
		}
	}
	switch {
	case apierrors.IsNotFound(err):
		return nil // the watch event of the Delivery's deletion has not arrived yet
	case apierrors.IsConflict(err):
		return w.overtaken(ctx, p.delivery.Name, p.memory)
	case err != nil:
		return fmt.Errorf("writing the status of Delivery %s: %w", p.delivery.Name, err)
	}
	p.memory.published = w.clock.Now()
	clear(p.memory.gathered)
	switch {
	case len(status.Evidence) == 0:
	case equality.Semantic.DeepEqual(status.Evidence, written.Status.Evidence):
		p.memory.omitsEvidence = false
	default: // the API server drops fields that the CRD does not have
		w.omitEvidence(ctx, p, errNotStored)
	}
	w.deliveries.learn(written)
	return nil
}

// write writes a status, and returns the Delivery as the API server stored it.
func (w *publisher) write(ctx context.Context, d *v1alpha1.Delivery, status v1alpha1.DeliveryStatus) (*v1alpha1.Delivery, error) {
	ctx, cancel := context.WithTimeout(ctx, memberclient.RequestTimeout)
	defer cancel()
	patch, err := statusPatch(d, status)
	if err != nil {
		return nil, err
	}
	obj, err := w.client.Dynamic.Resource(deliveriesGVR).Namespace(v1alpha1.SystemNamespace).Patch(
		ctx, d.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: fieldManager}, "status")
	if err != nil {
		return nil, err
	}
	return toDelivery(obj)
}

// sameButMessages reports whether two statuses differ in messages and evidence alone. It does not ignore the message about a pending
// InstallPlan, because the manager finds the plan by that message.
func sameButMessages(a, b *v1alpha1.DeliveryStatus) bool {
	if len(a.Objects) != len(b.Objects) {
		return false
	}
	silent := func(s *v1alpha1.DeliveryStatus) v1alpha1.DeliveryStatus {
		out := *s
		out.Evidence, out.Answers = nil, nil
		out.Objects = slices.Clone(s.Objects)
		for i := range out.Objects {
			if out.Objects[i].Reason != v1alpha1.ReasonInstallPlanPending {
				out.Objects[i].Message = ""
			}
		}
		return out
	}
	return equality.Semantic.DeepEqual(silent(a), silent(b))
}

// bringsFirstEvidence reports whether a new status has evidence about an object about which the present one has none. It does not count
// objects that have been unhealthy for longer than wordsEvery: where not all evidence has room, that of one object can come and go.
func (w *publisher) bringsFirstEvidence(p *pass, status *v1alpha1.DeliveryStatus) bool {
	return slices.ContainsFunc(status.Evidence, func(is v1alpha1.ObjectEvidence) bool {
		key := evidenceKeyOf(&is)
		last := p.memory.judged[key]
		return last != nil && !last.unhealthy.IsZero() && w.clock.Since(last.unhealthy) < wordsEvery && p.evidenceBefore[key] == nil
	})
}

// sameAnswers reports whether two statuses have the same answers. A person waits for an answer, so publish writes a new answer without the
// wait wordsEvery. This makes few writes, because the collector answers a request at most every five seconds.
func sameAnswers(a, b *v1alpha1.DeliveryStatus) bool {
	return equality.Semantic.DeepEqual(a.Answers, b.Answers)
}

// errOvertaken is the error of a pass during which the Delivery changed. It makes the queue try the Delivery again.
var errOvertaken = errors.New("the Delivery changed during the pass")

// overtaken reads a Delivery that has changed since the pass began, so that the next pass judges the new state. It reads at most once in
// publishEvery, so that a member that refuses every patch does not get one request after the other. If it does not read, the next pass
// begins with the next event of the watch, or after the backoff of the queue.
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

// statusPatch is the merge patch that writes a status. The API server refuses the patch if the Delivery on the member
// no longer has the resourceVersion and the uid of the Delivery that the pass judged.
func statusPatch(d *v1alpha1.Delivery, status v1alpha1.DeliveryStatus) ([]byte, error) {
	patch := map[string]any{
		"metadata": map[string]any{"resourceVersion": d.ResourceVersion, "uid": d.UID},
		"status":   nil,
	}
	if status.ObservedRendering != "" || status.Version != "" || len(status.Objects) > 0 || len(status.Answers) > 0 {
		fields := map[string]any{"observedRendering": nil, "version": nil, "objects": nil, "subscriptions": nil, "evidence": nil, "answers": nil}
		if status.ObservedRendering != "" {
			fields["observedRendering"] = status.ObservedRendering
		}
		if status.Version != "" {
			fields["version"] = status.Version
		}
		if len(status.Objects) > 0 {
			fields["objects"] = status.Objects
		}
		if len(status.Subscriptions) > 0 {
			fields["subscriptions"] = status.Subscriptions
		}
		if len(status.Evidence) > 0 {
			fields["evidence"] = status.Evidence
		}
		if len(status.Answers) > 0 {
			fields["answers"] = status.Answers
		}
		patch["status"] = fields
	}
	return json.Marshal(patch)
}

// evidenceAgain is the time for which the collector writes no evidence into a Delivery after the member refused the evidence, or stored
// other evidence. If an earlier version of hostctl joined the member, the CRD there has no field for evidence until hostctl joins the
// member again.
const evidenceAgain = 10 * time.Minute

// errNotStored is the reason for omitting evidence if the API server accepted a status but did not store its evidence.
var errNotStored = errors.New("the Delivery that the API server returned has other evidence than the collector wrote")

// refusesContent reports whether a member refused a status because of what the status contains. The code is 422 from a schema, 403, 406 or
// 413 from a webhook or a proxy, and 500 if the object is too large for etcd. After other errors, such as a broken connection, the member
// may accept the same status later. The collector then keeps the evidence, because it may be impossible to gather the evidence again.
func refusesContent(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsRequestEntityTooLargeError(err) || apierrors.IsForbidden(err) ||
		apierrors.IsNotAcceptable(err) || err != nil && strings.Contains(err.Error(), "request is too large")
}

// omitEvidence makes the next passes write no evidence into the Delivery for a while. Otherwise each pass would find that the member's
// status lacks the evidence, and would write the status again.
func (w *publisher) omitEvidence(ctx context.Context, p *pass, why error) {
	p.memory.noEvidenceUntil = w.clock.Now().Add(evidenceAgain)
	clear(p.memory.gathered)
	if !p.memory.omitsEvidence {
		p.memory.omitsEvidence = true
		klog.FromContext(ctx).Info("The member does not store evidence about unhealthy objects, so their states are written without it; if it was joined by an earlier version, "+
			"run `hostctl join` for it again", "delivery", p.delivery.Name, "reason", why.Error())
	}
}

// countEvidence updates holdsEvidence.
func (m *memory) countEvidence() {
	holds := false
	for _, found := range m.gathered {
		holds = holds || !evidence.IsEmpty(&found)
	}
	m.holdsEvidence.Store(holds)
}
