// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/health"
)

// Known is the content of the Delivery's status about one object.
type Known struct {
	// Line is the object's line, and Evidence the evidence about its present generation; nil if there is none.
	Line     *v1alpha1.ObjectStatus
	Evidence *v1alpha1.Evidence
	// WantsEvidence tells Explain to gather evidence, too.
	WantsEvidence bool
}

// Findings are the explanation of the state of an unhealthy object.
type Findings struct {
	// Cause is the first cause among the object's pods, or a cause in its newest Warning event; nil if there is none.
	Cause *health.Explanation
	// Evidence is nil if the caller did not want it or the Reader could not read it. It is empty if there is none.
	Evidence *v1alpha1.Evidence
}

// ErrBusy is the error of Explain and Answer while the Reader serves its highest number of concurrent calls. The call then sends no
// request.
var ErrBusy = errors.New("the explanations of other objects are being read")

// Explain reads the pods of an unhealthy object, the events, and the logs. related has the object's newest Warning event, and for a
// Subscription its InstallPlan and its ClusterServiceVersion. The error concerns the pods: it is a Forbidden error if the member does not
// allow the collector to read them. The Findings then have only events.
func (r *Reader) Explain(ctx context.Context, obj *unstructured.Unstructured, related *health.Related, known Known) (Findings, error) {
	hasPods := health.HasPods(obj.GroupVersionKind().GroupKind())
	if !hasPods && !known.WantsEvidence {
		return Findings{}, nil
	}
	// If no place is free, do not wait for one: that would delay the verdicts about all objects of the Delivery.
	select {
	case r.places <- struct{}{}:
		defer func() { <-r.places }()
	default:
		return Findings{}, ErrBusy
	}
	ctx, cancel := context.WithTimeout(ctx, atMost)
	defer cancel()
	var owned belongings
	var err error
	if hasPods {
		if owned, err = r.belongingsOf(ctx, obj, related.CSV); err != nil && !apierrors.IsForbidden(err) {
			return Findings{}, err
		}
	}
	var found Findings
	logs := &logs{client: r.client, read: map[logKey]logRead{}}
	if err == nil && hasPods {
		found.Cause = r.cause(ctx, obj, related.Warning, owned.pods, logs, known.Line)
	}
	if known.WantsEvidence {
		found.Evidence = r.gather(ctx, obj, related, &owned, logs, known.Evidence)
	}
	return found, err
}

// cause returns the first cause among the pods of an object; nil if there is none.
func (r *Reader) cause(
	ctx context.Context, obj *unstructured.Unstructured, warning *health.Warning, pods []health.PodObject, logs *logs, line *v1alpha1.ObjectStatus,
) *health.Explanation {
	var newest time.Time
	for i := range pods {
		if made := pods[i].Metadata.CreationTimestamp.Time; made.After(newest) {
			newest = made
		}
	}
	trouble := health.CannotCreate(obj, warning, newest, r.client.Now())
	if trouble == nil {
		trouble = health.FirstTrouble(pods, r.client.Now())
	}
	if trouble == nil {
		return nil
	}
	event, log := r.complete(ctx, trouble, logs)
	return trouble.Tell(event.Reason, event.Message, log, line)
}

// complete reads the event or the log that the trouble names. They only add details to the cause, so complete ignores errors. For example,
// the kubelet does not answer, or has deleted the log.
func (r *Reader) complete(ctx context.Context, t *health.Trouble, logs *logs) (event health.Warning, log string) {
	if t.Event != health.NoEvent {
		if w, err := r.newest(ctx, t.Namespace, t.UID, t.Event.Accepts); err == nil && w != nil {
			event = *w
		}
	}
	if t.Log != health.NoLog {
		log, _ = logs.tail(ctx, logKey{t.Namespace, t.Pod, t.Container, t.Log == health.PreviousLog})
	}
	return event, log
}
