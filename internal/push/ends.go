// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// finished notes a pass that came to its end.
func (l *lane) finished(key Key, outcome Outcome, todo work) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.outcomes[key] = outcome.beside(l.outcomes[key], l.stillUnmended(key, outcome.want, todo))
	l.deliveries.Written(key, outcome.uid, outcome.generation)
	for _, mark := range todo.marks {
		if l.repaired[key] == nil {
			l.repaired[key] = sets.New[string]()
		}
		l.repaired[key].Insert(mark)
	}
	for _, id := range todo.mended(&outcome) {
		l.noteRepair(key, id, l.clock.Now())
	}
	if outcome.Done {
		delete(l.failures, key)
		return
	}
	if outcome.Retry > 0 {
		l.again(key, outcome.Retry)
	}
}

// failed notes a pass that the wire broke off. One such error is enough to shut the way: the probe
// tells within seconds whether it is open.
func (l *lane) failed(key Key, want *Want, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.outcomes[key] = Outcome{want: want, State: v1alpha1.StateDegraded, Reason: v1alpha1.ReasonPushError, Message: err.Error(),
		unmended: l.outcomes[key].unmended}
	l.suspect(err)
	l.again(key, time.Second)
}

// lookFailed notes that a Secret could not be looked at. That says nothing of the pair, whose last pass still
// tells how it is; the Secret comes up again in its next turn.
func (l *lane) lookFailed(ctx context.Context, key Key, err error) {
	log.FromContext(ctx).Info("a Secret could not be looked at", "member", l.conn.Name(), "wrapper", key.String(), "error", err.Error())
	l.mu.Lock()
	defer l.mu.Unlock()
	l.suspect(err)
}

// suspect shuts the way when an error is the wire's. l.mu is held.
func (l *lane) suspect(err error) {
	if IsWire(err) && !l.broken {
		l.broken = true
		l.pusher.fleet.ProbeNow(l.conn.Name())
	}
}

// stillUnmended are the drifts that an earlier pass could not mend and that the one just ended, for want, was not
// to repair. What is not wanted any more has been let go of, whatever the Delivery still says of it. l.mu is held.
func (l *lane) stillUnmended(key Key, want *Want, todo work) []identity {
	drifting := make(map[identity]bool)
	for _, o := range l.deliveries.Get(key).Drifts() {
		drifting[identity{o.Group, o.Kind, o.Name}] = true
	}
	var still []identity
	for _, id := range l.outcomes[key].unmended {
		if _, tried := todo.drifted[id]; !tried && want.lists(id) && (drifting[id] || id.isSecret()) {
			still = append(still, id)
		}
	}
	return still
}

// beside is the outcome of a pass that had nothing to do with what the last one left unmended: that still is
// the trouble where this one had none, and is tried again when it was to be.
func (o Outcome) beside(last Outcome, still []identity) Outcome {
	if len(still) == 0 {
		return o
	}
	if o.Done {
		o.Done, o.State, o.Reason, o.Message = false, last.State, last.Reason, last.Message
	}
	o.unmended, o.again = append(o.unmended, still...), last.again
	return o
}

// IsUnmended says whether something that drifted could not be repaired.
func (o *Outcome) IsUnmended() bool { return len(o.unmended) > 0 }

// again has a pair tried once more, later each time. l.mu is held.
func (l *lane) again(key Key, first time.Duration) {
	wait := max(first, min(first<<min(l.failures[key], 10), retryLater))
	l.failures[key]++
	out := l.outcomes[key]
	if at := l.clock.Now().Add(wait); !out.again.After(l.clock.Now()) || at.Before(out.again) {
		out.again = at
	}
	l.outcomes[key] = out
	l.queue.AddAfter(key, wait)
}
