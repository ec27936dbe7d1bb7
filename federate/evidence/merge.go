// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"slices"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/cause"
)

// maxKept is the greatest number of earlier containers that Merge keeps for their logs, although the new evidence does
// not have them.
const maxKept = MaxContainers / 2

// Merge joins new evidence, the parameter found, with earlier evidence, the parameter known. The earlier evidence is about the same
// generation of the object, and may be nil. A pod can be deleted, and an event expires, before the problem ends. So Merge keeps the
// earlier events. If no container in the new evidence has a log, it also keeps earlier containers with logs. If the new evidence is
// empty, it returns the earlier evidence. Merge changes neither argument.
func Merge(known *v1alpha1.Evidence, found v1alpha1.Evidence) v1alpha1.Evidence {
	if IsEmpty(known) {
		return found
	}
	if IsEmpty(&found) {
		return *known
	}
	merged := v1alpha1.Evidence{Events: mergedEvents(known.Events, found.Events), Containers: found.Containers}
	if !slices.ContainsFunc(found.Containers, hasLog) {
		var kept []v1alpha1.ObservedContainer
		for i := range known.Containers {
			k := &known.Containers[i]
			isThere := slices.ContainsFunc(found.Containers, func(c v1alpha1.ObservedContainer) bool { return c.Pod == k.Pod && c.Name == k.Name })
			if hasLog(*k) && !isThere && len(kept) < maxKept {
				kept = append(kept, *k)
			}
		}
		merged.Containers = slices.Concat(found.Containers[:min(len(found.Containers), MaxContainers-len(kept))], kept)
	}
	shrink(&merged, maxObject)
	return merged
}

func hasLog(c v1alpha1.ObservedContainer) bool { return c.Log != "" || c.PreviousLog != "" }

// mergedEvents returns the newest 20 of the events, the oldest first. Of two events with the same key, it returns only the newer one.
// It does not add their counts, because the newer count includes the earlier one.
func mergedEvents(known, found []v1alpha1.ObservedEvent) []v1alpha1.ObservedEvent {
	merged := map[sameEvent]v1alpha1.ObservedEvent{}
	for _, o := range slices.Concat(known, found) {
		if before, ok := merged[keyOf(o)]; !ok || !before.LastTime.After(o.LastTime.Time) {
			merged[keyOf(o)] = o
		}
	}
	return newest(merged)
}

// sameEvent has the properties that events have to share to be folded into one.
type sameEvent struct{ kind, eventType, reason, message string }

func keyOf(o v1alpha1.ObservedEvent) sameEvent {
	return sameEvent{o.Kind, o.Type, o.Reason, cause.Normalize("", o.Message)}
}

// newest returns the newest 20 of the events, the oldest first.
func newest(folded map[sameEvent]v1alpha1.ObservedEvent) []v1alpha1.ObservedEvent {
	var all []v1alpha1.ObservedEvent
	for _, o := range folded {
		all = append(all, o)
	}
	slices.SortFunc(all, newer)
	all = all[:min(len(all), MaxEvents)]
	slices.Reverse(all)
	return all
}
