// SPDX-License-Identifier: Apache-2.0

package health

import (
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// settleTime is how long a custom resource without a status for its present spec counts as progressing. After that it
// counts as healthy.
const settleTime = 30 * time.Second

// judgeGeneric judges by kstatus, and waits for the status of custom resources.
func judgeGeneric(obj *unstructured.Unstructured, now time.Time) Verdict {
	result, err := status.Compute(obj)
	if err != nil {
		// A status of an unknown form shows nothing, so it cannot count as healthy.
		return progressing(v1alpha1.ReasonStatusUnreadable, "its status cannot be read: "+err.Error())
	}
	reason := result.Status.String()
	if len(result.Conditions) > 0 && result.Conditions[0].Reason != "" {
		reason = result.Conditions[0].Reason
	}
	switch result.Status {
	case status.CurrentStatus:
		if left := settling(obj, now); left > 0 {
			v := progressing(v1alpha1.ReasonSettling, "its controller has written no status for the present spec yet")
			v.Recheck = left
			return v
		}
		return healthy()
	case status.FailedStatus:
		return degraded(reason, result.Message)
	default:
		return progressing(reason, result.Message)
	}
}

// settling returns how much of settleTime is left; zero if the object has a status for its present spec, or needs none.
func settling(obj *unstructured.Unstructured, now time.Time) time.Duration {
	if !isCustom(obj.GroupVersionKind().GroupKind()) {
		return 0
	}
	changed := changedAt(obj)
	left := changed.Add(settleTime).Sub(now)
	if left <= 0 || hasCurrentStatus(obj, changed) {
		return 0
	}
	// A member's clock that is ahead does not make the wait longer.
	return min(left, settleTime)
}

// hasCurrentStatus reports whether the status is about the present spec.
func hasCurrentStatus(obj *unstructured.Unstructured, changed time.Time) bool {
	if observed, found, err := unstructured.NestedInt64(obj.Object, "status", "observedGeneration"); err == nil && found {
		return observed >= obj.GetGeneration()
	}
	about := conditions(obj)
	if len(about) == 0 {
		// A status without conditions counts, although its time is not known.
		said, _, _ := unstructured.NestedMap(obj.Object, "status")
		return len(said) > 0
	}
	for _, c := range about {
		if c.observed > 0 {
			if c.observed >= obj.GetGeneration() {
				return true
			}
			continue
		}
		if !c.since.Before(changed) {
			return true
		}
	}
	return false
}

// changedAt is the time of the last write to anything except the status: the apply that created or changed the object.
func changedAt(obj *unstructured.Unstructured) time.Time {
	changed := obj.GetCreationTimestamp().Time
	for _, e := range obj.GetManagedFields() {
		if e.Subresource == "" && e.Manager == v1alpha1.FieldManager && e.Time != nil && e.Time.After(changed) {
			changed = e.Time.Time
		}
	}
	return changed
}

// condition is the part of an object's condition that the rules use.
type condition struct {
	kind, status, reason, message string
	since                         time.Time
	observed                      int64
}

func (c condition) isTrue() bool { return c.status == string(metav1.ConditionTrue) }

func conditions(obj *unstructured.Unstructured) []condition {
	list, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	out := make([]condition, 0, len(list))
	for _, item := range list {
		m, ok := item.(map[string]any)
		if !ok {
			continue
		}
		c := condition{
			kind: text(m, "type"), status: text(m, "status"), reason: text(m, "reason"), message: text(m, "message"),
			since: moment(m, "lastTransitionTime"),
		}
		c.observed, _, _ = unstructured.NestedInt64(m, "observedGeneration")
		out = append(out, c)
	}
	return out
}

func conditionOf(obj *unstructured.Unstructured, kind string) condition {
	for _, c := range conditions(obj) {
		if c.kind == kind {
			return c
		}
	}
	return condition{}
}

// text returns a string field; "" if it is missing or no string.
func text(m map[string]any, path ...string) string {
	s, _, _ := unstructured.NestedString(m, path...)
	return s
}

// moment returns a time field; zero if it is missing or no time.
func moment(m map[string]any, path ...string) time.Time {
	t, err := time.Parse(time.RFC3339, text(m, path...))
	if err != nil {
		return time.Time{}
	}
	return t
}
