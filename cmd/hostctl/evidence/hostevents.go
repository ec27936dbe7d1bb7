// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"cmp"
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/health"
)

// FieldUID is the field of an event by which the API server selects the events of one object. Events of group events.k8s.io have no
// such field, and the built-in role view does not grant them, so hostctl reads the events of the core group. Both
// groups have the same events.
const FieldUID = "involvedObject.uid"

// HostEvent is one event of the wrapper at the host. The names of its fields are stable.
type HostEvent struct {
	// Seen is when the event was last seen, and Count how often.
	Seen    metav1.Time `json:"seen,omitempty,omitzero"`
	Count   int32       `json:"count"`
	Type    string      `json:"type,omitempty"`
	Reason  string      `json:"reason"`
	Message string      `json:"message"`
}

// HostEventsOf selects the events of a wrapper.
func HostEventsOf(w v1alpha1.Wrapper) []client.ListOption {
	return []client.ListOption{client.InNamespace(hostEventsNamespace(w)), client.MatchingFields{FieldUID: string(w.GetUID())}}
}

// hostEventsNamespace returns the namespace with the events of a wrapper. The API server takes events about cluster-scoped objects
// only in namespace default.
func hostEventsNamespace(w v1alpha1.Wrapper) string {
	return cmp.Or(w.GetNamespace(), metav1.NamespaceDefault)
}

// HostEvents reads the events of a wrapper, in no order, and the resource version from which a watch continues. The error is an
// *Unreadable.
func HostEvents(ctx context.Context, host client.Client, w v1alpha1.Wrapper) (found []HostEvent, resourceVersion string, err error) {
	list := &corev1.EventList{}
	if err := host.List(ctx, list, HostEventsOf(w)...); err != nil {
		return nil, "", &Unreadable{"list events", hostEventsNamespace(w), err}
	}
	for i := range list.Items {
		found = append(found, HostEventFrom(&list.Items[i]))
	}
	return found, list.ResourceVersion, nil
}

// HostEventFrom converts an event. The manager writes events in the API group events.k8s.io. Such an event has its time in eventTime, and
// the time and the count of its repetitions in series. The fields lastTimestamp and count of the core group are empty.
func HostEventFrom(e *corev1.Event) HostEvent {
	out := HostEvent{Seen: e.LastTimestamp, Count: max(e.Count, 1), Type: health.Clean(e.Type, 64), Reason: health.Clean(e.Reason, 128),
		Message: health.Clean(e.Message, health.MaxMessage)}
	switch {
	case e.Series != nil:
		out.Seen, out.Count = metav1.NewTime(e.Series.LastObservedTime.Time), max(e.Series.Count, 1)
	case out.Seen.IsZero() && !e.EventTime.IsZero():
		out.Seen = metav1.NewTime(e.EventTime.Time)
	case out.Seen.IsZero():
		out.Seen = e.CreationTimestamp
	}
	return out
}
