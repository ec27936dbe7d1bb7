// SPDX-License-Identifier: Apache-2.0

package health

import (
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// settleTime is the time for which a custom resource without a status for its present spec stays Progressing. After that
// it counts as Healthy.
const settleTime = 30 * time.Second

// judgeGeneric judges an object by kstatus. For a custom resource it first waits for a status.
func judgeGeneric(obj *unstructured.Unstructured, now time.Time) Verdict {
	result, err := status.Compute(obj)
	if err != nil {
		// The status has a form that kstatus cannot read. The object may have failed, so it must not count as healthy.
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

// settling returns how much of settleTime remains. It is 0 if the object has a status for its present spec, or needs no
// status.
func settling(obj *unstructured.Unstructured, now time.Time) time.Duration {
	if !isCustom(obj.GroupVersionKind().GroupKind()) {
		return 0
	}
	changed := changedAt(obj)
	left := changed.Add(settleTime).Sub(now)
	if left <= 0 || hasCurrentStatus(obj, changed) {
		return 0
	}
	// If the member's clock is ahead, the wait must still not be longer than settleTime.
	return min(left, settleTime)
}

// hasCurrentStatus reports whether the object's status describes its present spec. The parameter changed is the result of
// changedAt.
func hasCurrentStatus(obj *unstructured.Unstructured, changed time.Time) bool {
	if observed, found, err := unstructured.NestedInt64(obj.Object, "status", "observedGeneration"); err == nil && found {
		return observed >= obj.GetGeneration()
	}
	about := conditions(obj)
	if len(about) == 0 {
		// A status without conditions counts as current, because nothing in it tells its time.
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

// changedAt returns when the manager last applied the object, by managedFields. It ignores applies of the status. If managedFields
// have no entry of the manager, it returns when the object was created.
func changedAt(obj *unstructured.Unstructured) time.Time {
	changed := obj.GetCreationTimestamp().Time
	for _, e := range obj.GetManagedFields() {
		if e.Subresource == "" && e.Manager == v1alpha1.FieldManager && e.Time != nil && e.Time.After(changed) {
			changed = e.Time.Time
		}
	}
	return changed
}

// statusChangedAt returns when a client last changed the status; the zero time if managedFields have no entry for the status.
func statusChangedAt(obj *unstructured.Unstructured) time.Time {
	var changed time.Time
	for _, e := range obj.GetManagedFields() {
		if e.Subresource == "status" && e.Time != nil && e.Time.After(changed) {
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

func (c condition) isTrue() bool  { return c.status == string(metav1.ConditionTrue) }
func (c condition) isFalse() bool { return c.status == string(metav1.ConditionFalse) }

// words returns the message of a condition, or a substitute if the message is empty.
func (c condition) words() string {
	if c.message == "" {
		return "condition " + c.kind + " is " + c.status + " without a message"
	}
	return c.message
}

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

// text returns the string at path; "" if the field is missing or not a string.
func text(m map[string]any, path ...string) string {
	s, _, _ := unstructured.NestedString(m, path...)
	return s
}

// moment returns the time at path; the zero time if the field is missing or not a time.
func moment(m map[string]any, path ...string) time.Time {
	t, err := time.Parse(time.RFC3339, text(m, path...))
	if err != nil {
		return time.Time{}
	}
	return t
}
