// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
)

// driftRepairs is what the manager remembers of the repairs of one pair. It decides which drifts a pass repairs.
type driftRepairs struct {
	// repaired has the IDs (deliveries.DriftID) of the drifts that a pass has tried to repair.
	repaired sets.Set[string]
	// backoffs has the drift backoff of each object that the manager repaired recently.
	backoffs driftBackoffs
}

// isEmpty reports whether there is nothing to remember.
func (r *driftRepairs) isEmpty() bool { return len(r.repaired) == 0 && len(r.backoffs) == 0 }

// due returns the drifts to repair now: those that no pass has tried to repair yet. If retry is true, it adds the
// drifts of the objects in the parameter unrepaired, which the last pass could not repair. Under drift: Report it
// returns only unfinished objects. wake is the time until a drift backoff allows a further repair; zero when no repair
// waits.
func (r *driftRepairs) due(desired *Desired, seen *deliveries.Summary, unrepaired []ObjectID, retry bool, now time.Time) (todo Work, wake time.Duration) {
	todo = Work{Drifted: make(map[ObjectID]v1alpha1.DriftKind), Marks: make(map[ObjectID]string), Gone: make(map[ObjectID]types.UID)}
	if seen == nil || seen.Wrapper.UID != desired.Wrapper.UID {
		return todo, 0 // the Delivery of another wrapper reports that wrapper's objects, not this one's
	}
	for _, o := range seen.Drifts() {
		id, mark, unfinished := ObjectID{Group: o.Group, Kind: o.Kind, Name: o.Name}, deliveries.DriftID(&o), deliveries.IsUnfinished(&o)
		if desired.Drift != v1alpha1.DriftRepair && !unfinished {
			continue
		}
		if r.repaired.Has(mark) && (!retry || !slices.Contains(unrepaired, id)) {
			continue
		}
		if unfinished {
			if todo.Unfinished == nil {
				todo.Unfinished = sets.New[ObjectID]()
			}
			todo.Unfinished.Insert(id)
		} else if wait := r.backoffs.drifted(id, &o, now); wait > 0 {
			wake = sooner(wake, wait)
			continue
		}
		todo.Drifted[id], todo.Marks[id] = o.Drift.Kind, mark
		if o.Drift.Kind == v1alpha1.DriftGone {
			todo.Gone[id] = types.UID(o.Drift.ResourceVersion)
		}
	}
	for _, id := range unrepaired {
		if retry && id.IsSecret() && desired.Drift == v1alpha1.DriftRepair { // no collector reads Secrets, so no status lists this drift
			todo.Drifted[id] = v1alpha1.DriftChanged
		}
	}
	return todo, wake
}

// tried records the repairs of a pass that ended without an error. wake is the time until the next drift backoff can be
// forgotten; zero when there is none.
func (r *driftRepairs) tried(todo *Work, outcome *Outcome, now time.Time) (wake time.Duration) {
	for _, mark := range todo.Marks {
		if r.repaired == nil {
			r.repaired = sets.New[string]()
		}
		r.repaired.Insert(mark)
	}
	for _, id := range todo.Repaired(outcome) {
		if r.backoffs == nil {
			r.backoffs = make(driftBackoffs)
		}
		wake = sooner(wake, r.backoffs.repaired(id, now))
	}
	return wake
}
