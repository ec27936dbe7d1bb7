// SPDX-License-Identifier: Apache-2.0

package deliveries

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/evidence"
	"github.com/fairlead-dev/fairlead/federate/health"
)

// maxListedEvidence bounds how many bytes of memory, by estimate, the evidence in one list of a member's Deliveries may take. The
// reflector keeps all pages of a list in memory until it has the last one. Beyond the limit, the host leaves the evidence of
// further Deliveries out, and reads it when they change.
const maxListedEvidence = 16 << 20

// boundEvidence returns a copy of the evidence. The copy fits the schema of a MemberReport, and its texts are clean: they are valid UTF-8
// without control and formatting characters, but a log keeps newlines and tabs. boundEvidence drops what does not fit: an entry without
// a name, an unknown type or state, a time that JSON cannot have, and what exceeds evidence.MaxDelivery bytes. Of the events it keeps the
// latest, which are at the end of the list. The collector obeys the same limits, but a hostile member can leave out the schema.
func boundEvidence(all []v1alpha1.ObjectEvidence) []v1alpha1.ObjectEvidence {
	if len(all) == 0 {
		return nil
	}
	room := room(evidence.MaxDelivery)
	kept := make([]v1alpha1.ObjectEvidence, 0, min(len(all), evidence.MaxObjects))
	for i := range all[:min(len(all), evidence.MaxObjects)] {
		is := &all[i]
		e := v1alpha1.ObjectEvidence{Group: health.Clean(is.Group, maxName), Kind: health.Clean(is.Kind, evidence.MaxKind), Name: health.Clean(is.Name, maxName)}
		isKnown := slices.ContainsFunc(kept, func(o v1alpha1.ObjectEvidence) bool {
			return o.Group == e.Group && o.Kind == e.Kind && o.Name == e.Name
		})
		if e.Kind == "" || e.Name == "" || isKnown || !room.take(e.Group, e.Kind, e.Name) {
			continue
		}
		e.Containers = room.containers(is.Containers[:min(len(is.Containers), evidence.MaxContainers)], evidence.MaxLogs)
		e.Events = room.events(is.Events[max(0, len(is.Events)-evidence.MaxEvents):])
		if len(e.Events)+len(e.Containers) > 0 {
			kept = append(kept, e)
		}
	}
	return slices.Clip(kept)
}

// room is how many bytes the texts of a Delivery's evidence may still have.
type room int

// take subtracts the lengths of the texts from the room. If the room is too small for them, take subtracts nothing and returns false.
func (r *room) take(texts ...string) bool {
	length := 0
	for _, text := range texts {
		length += len(text)
	}
	if length > int(*r) {
		return false
	}
	*r -= room(length)
	return true
}

func (r *room) events(all []v1alpha1.ObservedEvent) (kept []v1alpha1.ObservedEvent) {
	for _, is := range slices.Backward(all) { // the latest first, because the room may end
		e := v1alpha1.ObservedEvent{Kind: health.Clean(is.Kind, evidence.MaxKind), Name: health.Clean(is.Name, maxName), Type: cut(is.Type, evidence.MaxKind),
			Reason: health.Clean(is.Reason, evidence.MaxReason), Message: health.Clean(is.Message, maxMessage), Count: is.Count, LastTime: is.LastTime}
		if evidence.Fits(&e) && r.take(e.Kind, e.Name, e.Reason, e.Message) {
			kept = append(kept, e)
		}
	}
	slices.Reverse(kept)
	return kept
}

// containers returns a copy of the containers. The argument logs limits the bytes of all their logs together.
func (r *room) containers(all []v1alpha1.ObservedContainer, logs int) (kept []v1alpha1.ObservedContainer) {
	read := 2 * logs
	for i := range all {
		is := &all[i]
		c := v1alpha1.ObservedContainer{Pod: health.Clean(is.Pod, maxName), Name: health.Clean(is.Name, evidence.MaxKind),
			Reason: health.Clean(is.Reason, evidence.MaxReason), Restarts: max(0, is.Restarts)}
		switch is.State {
		case evidence.StateWaiting, evidence.StateRunning, evidence.StateTerminated:
			c.State = is.State
		}
		if c.Pod == "" || c.Name == "" || c.State == "" || !r.take(c.Pod, c.Name, c.State, c.Reason) {
			continue
		}
		for _, l := range []struct{ to, is *string }{{&c.Log, &is.Log}, {&c.PreviousLog, &is.PreviousLog}} {
			limit := min(logs, int(*r))
			if limit <= 0 {
				continue // cleaning takes time, and a hostile member may send many logs
			}
			text := cleanLog(*l.is, limit, read)
			r.take(text)
			logs -= len(text)
			*l.to = text
		}
		kept = append(kept, c)
	}
	return kept
}

// cleanLog makes the end of a log from a member safe for a status and a terminal. The result is valid UTF-8. It has newlines and tabs, but
// no other control or formatting characters, such as escape sequences or bidirectional overrides. If the result would be longer than limit
// bytes, cleanLog returns only its end, which begins with a whole line if it contains the beginning of one. The argument read limits the
// work: cleanLog reads at most that many bytes at the end of the text.
func cleanLog(text string, limit, read int) string {
	if len(text) > read {
		text = text[len(text)-read:]
	}
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(text, "\uFFFD") {
		if r == '\n' || r == '\t' || !health.IsHidden(r) {
			b.WriteRune(r)
		}
	}
	is := b.String()
	if len(is) <= limit {
		return is
	}
	start := len(is) - limit
	for start < len(is) && !utf8.RuneStart(is[start]) {
		start++
	}
	if is[start-1] != '\n' {
		if end := strings.IndexByte(is[start:], '\n'); end >= 0 && start+end+1 < len(is) {
			start += end + 1
		}
	}
	return strings.Clone(is[start:])
}
