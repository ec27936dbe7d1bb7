// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"cmp"
	"math"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/health"
)

// The greatest lengths of texts in the schema, in characters. They also serve as limits in bytes, because a text never has fewer bytes than
// characters. MaxKind is also the limit of the name of a container.
const (
	MaxKind    = 63
	MaxName    = 253
	MaxReason  = 128
	MaxMessage = 1024
)

// Event is the part of an Event that becomes evidence, in the form of the Kubernetes API.
type Event struct {
	Metadata struct {
		CreationTimestamp metav1.Time `json:"creationTimestamp"`
	} `json:"metadata"`
	InvolvedObject struct {
		Kind string `json:"kind"`
		Name string `json:"name"`
	} `json:"involvedObject"`
	Type          string           `json:"type"`
	Reason        string           `json:"reason"`
	Message       string           `json:"message"`
	Count         int32            `json:"count"`
	LastTimestamp metav1.Time      `json:"lastTimestamp"`
	EventTime     metav1.MicroTime `json:"eventTime"`
	Series        *struct {
		Count            int32            `json:"count"`
		LastObservedTime metav1.MicroTime `json:"lastObservedTime"`
	} `json:"series"`
}

// Last returns when the event was last seen: the first of its times that is set.
func (e *Event) Last() time.Time {
	switch {
	case e.Series != nil && !e.Series.LastObservedTime.IsZero():
		return e.Series.LastObservedTime.Time
	case !e.LastTimestamp.IsZero():
		return e.LastTimestamp.Time
	case !e.EventTime.IsZero():
		return e.EventTime.Time
	}
	return e.Metadata.CreationTimestamp.Time
}

// times returns how often the event happened.
func (e *Event) times() int32 {
	if e.Series != nil {
		return max(e.Series.Count, e.Count, 1)
	}
	return max(e.Count, 1)
}

// observed returns the event with redacted and cleaned texts. ok is false if the schema would refuse it.
func (e *Event) observed() (o v1alpha1.ObservedEvent, ok bool) {
	o = v1alpha1.ObservedEvent{
		Kind: health.Clean(e.InvolvedObject.Kind, MaxKind), Name: health.Clean(e.InvolvedObject.Name, MaxName),
		Type: corev1.EventTypeNormal, Reason: health.Tidy(e.Reason, MaxReason), Message: health.Tidy(e.Message, MaxMessage),
		Count: e.times(), LastTime: metav1.NewTime(e.Last().UTC().Truncate(time.Second)),
	}
	if e.Type == corev1.EventTypeWarning {
		o.Type = corev1.EventTypeWarning
	}
	return o, Fits(&o)
}

// Fits reports whether the schema accepts an event whose texts are clean and short enough.
func Fits(o *v1alpha1.ObservedEvent) bool {
	// In JSON the year of a time, in UTC, has four digits. So JSON has no form for a time after the year 9999.
	year := o.LastTime.UTC().Year()
	return o.Kind != "" && o.Name != "" && o.Reason != "" && o.Count >= 1 && !o.LastTime.IsZero() && year >= 1 && year <= 9999 &&
		(o.Type == corev1.EventTypeNormal || o.Type == corev1.EventTypeWarning)
}

// fold returns the newest 20 of the events, the oldest first. It joins events about objects of the same kind if they have the same
// type, the same reason, and messages that differ only in names, addresses and numbers. The joined event has the sum of the counts.
// Its other fields are those of the newest event.
func fold(events []Event) []v1alpha1.ObservedEvent {
	folded := map[sameEvent]v1alpha1.ObservedEvent{}
	for i := range events {
		o, ok := events[i].observed()
		if !ok {
			continue
		}
		key := keyOf(o)
		if known, ok := folded[key]; ok {
			count := int64(known.Count) + int64(o.Count)
			if newer(known, o) < 0 {
				o = known
			}
			o.Count = int32(min(count, math.MaxInt32))
		}
		folded[key] = o
	}
	return newest(folded)
}

// newer compares two events for an order in which the newest is the first. The order is total except for equal events, so that the result
// does not change from one reading to the next.
func newer(a, b v1alpha1.ObservedEvent) int {
	return cmp.Or(b.LastTime.Compare(a.LastTime.Time), strings.Compare(a.Kind, b.Kind), strings.Compare(a.Name, b.Name),
		strings.Compare(a.Reason, b.Reason), strings.Compare(a.Message, b.Message), strings.Compare(a.Type, b.Type))
}
