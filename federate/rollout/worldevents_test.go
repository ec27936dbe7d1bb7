// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// event is one change that can happen to a world.
type event struct {
	what  string
	apply func(*world)
}

// events returns all events that can happen to the world now.
func (w *world) events() []event {
	var out []event
	can := func(what string, apply func(*world)) { out = append(out, event{what, apply}) }
	for i := range w.members {
		m := &w.members[i]
		on := func(what string, change func(*worldMember)) {
			can(name(i)+" "+what, func(w *world) { change(&w.members[i]) })
		}
		fault := func(what string, state v1alpha1.ClusterState) {
			if w.faults > 0 {
				can(name(i)+" "+what, func(w *world) { w.faults--; w.members[i].become(state) })
			}
		}
		if m.unread {
			// What happens to it before that shows no more than the same event before the restart.
			on("is read", func(m *worldMember) { m.unread = false })
			continue
		}
		switch {
		case m.health == v1alpha1.StateUnreachable:
			on("is back", func(m *worldMember) { m.become(v1alpha1.StateProgressing) })
			continue
		case m.pushing && w.allSuspended:
			continue
		case m.pushing:
			can(name(i)+" is written", func(w *world) { w.writeOn(&w.members[i]) })
		case m.written == "":
			continue
		case m.reinstall != NoReinstall && m.reinstall != ReinstallSettling:
			if m.may || m.reinstall != ReinstallNeeded {
				on("is reinstalled further", (*worldMember).advanceReinstall)
			}
			if m.may && m.reinstall == ReinstallNeeded && w.faults > 0 {
				can(name(i)+" is kept", func(w *world) { w.faults--; w.members[i].reinstall = ReinstallKept })
			}
		case m.health == v1alpha1.StateHealthy:
			fault("falls ill", v1alpha1.StateDegraded)
		default:
			on("is healthy", func(m *worldMember) { m.become(v1alpha1.StateHealthy) })
			if m.health != v1alpha1.StateStalled {
				fault("is stalled", v1alpha1.StateStalled)
			}
		}
		fault("is lost", v1alpha1.StateUnreachable)
	}
	can("time passes", (*world).grow)
	if w.edits > 0 {
		can("edit", func(w *world) { w.edits--; w.edit(everyone) })
	}
	for i := range min(len(w.members), 3) { // in a large fleet, other members would show no more
		if w.partial > 0 {
			can("edit that leaves "+name(i), func(w *world) { w.partial--; w.edit(i) })
		}
		if w.labels > 0 && !w.members[i].isRelabelled {
			can(name(i)+" has another label", func(w *world) { w.labels--; w.members[i].isRelabelled = true })
		}
	}
	if w.suspends > 0 || w.allSuspended {
		can("suspend or resume", func(w *world) {
			if w.allSuspended = !w.allSuspended; w.allSuspended {
				w.suspends--
			}
		})
	}
	if !w.approved && w.state.Wave == "last" && !w.state.Begun {
		can("approval", func(w *world) { w.approved = true })
	}
	if w.state.Failure != nil && w.retries > 0 && w.state.Failure.At.Before(epoch) {
		can("retry", func(w *world) { w.retries--; w.retry = true })
	}
	if w.restarts > 0 {
		can("restart", (*world).restart)
	}
	return out
}

// edit makes a new revision, which changes every member except the one at the index left.
func (w *world) edit(left int) {
	w.revision++
	w.left = append(w.left, left)
}

// restart drops what only the manager's memory has.
func (w *world) restart() {
	w.restarts--
	for i := range w.members {
		w.members[i].told, w.members[i].toldOf, w.members[i].proven = w.members[i].written, w.members[i].writtenOf, false
		w.members[i].pushing, w.members[i].unread = false, w.rereads
		if w.members[i].reinstall == ReinstallAnnounced {
			w.members[i].reinstall = ReinstallNeeded // a restarted manager announces again
			w.members[i].become(v1alpha1.StateDegraded)
		}
	}
}

// proceed lets the good events happen that can happen now, and then one tick of time pass.
func (w *world) proceed() {
	for i := range w.members {
		m := &w.members[i]
		m.unread = false
		if m.health == v1alpha1.StateUnreachable {
			m.become(v1alpha1.StateProgressing)
		}
		if m.pushing {
			w.writeOn(m)
		}
		if m.reinstall != NoReinstall && m.reinstall != ReinstallSettling {
			m.advanceReinstall()
		} else if m.written != "" && m.health != v1alpha1.StateHealthy {
			m.become(v1alpha1.StateHealthy)
		}
	}
	w.approved, w.allSuspended = true, false
	w.grow()
}
