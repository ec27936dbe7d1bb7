// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"encoding/json"
	"slices"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/health"
)

// The limits of evidence. The schema of a Delivery has the first three, too.
const (
	// MaxObjects is the greatest number of objects of a Delivery that have evidence.
	MaxObjects = 16
	// MaxEvents is the greatest number of events of one object.
	MaxEvents = 20
	// MaxContainers is the greatest number of containers of one object.
	MaxContainers = 8
	// MaxLogs bounds all logs of an object, in bytes.
	MaxLogs = 8 << 10
	// MaxDelivery bounds the evidence of all objects of a Delivery, in bytes.
	MaxDelivery = 32 << 10
)

const (
	// maxLog bounds one log, in bytes.
	maxLog = 4 << 10
	// maxObject bounds the evidence of an object, in bytes of JSON.
	maxObject = 16 << 10
	// shortLog is a length in bytes. If a log is shorter, shrink drops it instead of cutting it.
	shortLog = 256
)

// Of makes the evidence about an object. The events are about the object and the objects that it owns. The containers are those that
// Pick returns for the object's pods. Without events and containers the result is empty.
func Of(events []Event, containers []Container) v1alpha1.Evidence {
	e := v1alpha1.Evidence{Events: fold(events), Containers: observed(containers, logLimits{one: maxLog, all: MaxLogs, text: health.LogText})}
	shrink(&e, maxObject)
	return e
}

// IsEmpty reports whether there is no evidence.
func IsEmpty(e *v1alpha1.Evidence) bool {
	return e == nil || len(e.Events) == 0 && len(e.Containers) == 0
}

// Bound returns the evidence of the first 16 objects that have some, cut to 32 KiB. If it has to cut, it goes through the objects in
// order: it divides the bytes that are left by the number of objects that are left, and cuts the next object's evidence to the result.
// Bound does not change the argument. The evidence of each object has to come from Of, Merge or an earlier call of Bound.
func Bound(objects []v1alpha1.ObjectEvidence) []v1alpha1.ObjectEvidence {
	var all []v1alpha1.ObjectEvidence
	total := 0
	for i := range objects {
		if len(all) < MaxObjects && !IsEmpty(&objects[i].Evidence) {
			all = append(all, objects[i])
			total += sizeOf(&objects[i]) + 1
		}
	}
	if total <= MaxDelivery {
		return all
	}
	var kept []v1alpha1.ObjectEvidence
	left := MaxDelivery
	for i := range all {
		o := &all[i]
		names := sizeOf(&v1alpha1.ObjectEvidence{Group: o.Group, Kind: o.Kind, Name: o.Name}) + 1
		shrink(&o.Evidence, left/(len(all)-i)-names)
		if !IsEmpty(&o.Evidence) {
			kept = append(kept, *o)
			left -= sizeOf(o) + 1
		}
	}
	return kept
}

// shrink cuts evidence to limit bytes of JSON. While logs take more than half of the limit, or at most one event is left, it cuts the longest log. Otherwise
// it drops the oldest event. It drops containers only when no log and no event is left. It replaces the lists in e, and does not change their items.
func shrink(e *v1alpha1.Evidence, limit int) {
	size, logs := len(`{"events":[],"containers":[]}`), 0
	for i := range e.Events {
		size += sizeOf(&e.Events[i]) + 1
	}
	for i := range e.Containers {
		size += sizeOf(&e.Containers[i]) + 1
		logs += sizeOf(e.Containers[i].Log) + sizeOf(e.Containers[i].PreviousLog)
	}
	if size <= limit {
		return
	}
	e.Containers = slices.Clone(e.Containers)
	for size > limit {
		c, log := longestLog(e.Containers)
		switch {
		case log != nil && (2*logs > limit || len(e.Events) < 2):
			before, text := sizeOf(c), sizeOf(*log)
			if len(*log) < shortLog {
				*log = ""
			} else {
				*log = tail(*log, len(*log)/2)
			}
			size += sizeOf(c) - before
			logs += sizeOf(*log) - text
		case len(e.Events) > 0:
			size -= sizeOf(&e.Events[0]) + 1
			e.Events = e.Events[1:]
		case len(e.Containers) > 0:
			last := len(e.Containers) - 1
			size -= sizeOf(&e.Containers[last]) + 1
			e.Containers = e.Containers[:last]
		default:
			return
		}
	}
}

// longestLog returns the longest log of the containers, and its container; nil if there is no log.
func longestLog(containers []v1alpha1.ObservedContainer) (container *v1alpha1.ObservedContainer, log *string) {
	for i := range containers {
		for _, text := range []*string{&containers[i].Log, &containers[i].PreviousLog} {
			if *text != "" && (log == nil || len(*text) > len(*log)) {
				container, log = &containers[i], text
			}
		}
	}
	return container, log
}

// sizeOf returns the number of bytes of a value as JSON.
func sizeOf(v any) int {
	text, err := json.Marshal(v)
	if err != nil {
		return MaxDelivery // evidence has no value that JSON cannot express, so this is too much on purpose
	}
	return len(text)
}
