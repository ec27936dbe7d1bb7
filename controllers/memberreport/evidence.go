// SPDX-License-Identifier: Apache-2.0

package memberreport

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	rules "github.com/fairlead-dev/fairlead/federate/memberreport"
	"github.com/fairlead-dev/fairlead/internal/boundedread"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
)

// wrapperID identifies a wrapper. It has the uid, because a new wrapper can have the name of a wrapper that was deleted.
type wrapperID struct {
	deliveries.Key
	uid types.UID
}

// memberRecord is what the store has about one member.
type memberRecord struct {
	// read is true after this process has read a complete list of the member's Deliveries.
	read bool
	// changed has the names of the Deliveries that this process has read before the first complete list; nil after that list.
	changed sets.Set[string]
	// omitted has the names of the Deliveries whose evidence this process does not know: it read them in a list with too much evidence,
	// and dropped a part of the evidence.
	omitted sets.Set[string]
	// shown maps the name of each Delivery in which the member shows something to the wrapper of that Delivery.
	shown map[string]wrapperID
}

// noteRead records that this process has read a Delivery of the member.
func (m *memberRecord) noteRead(delivery string) {
	m.omitted.Delete(delivery)
	if !m.read {
		m.changed.Insert(delivery)
	}
}

// noteList records that this process has read a complete list of the member's Deliveries.
func (m *memberRecord) noteList(listed map[string]int64) {
	m.read, m.changed = true, nil
	for name := range m.omitted {
		if _, ok := listed[name]; !ok {
			m.omitted.Delete(name)
		}
	}
}

// isUnread reports whether this process does not know the evidence in a Delivery. For a member without a record, m is nil, and the
// result is true.
func (m *memberRecord) isUnread(delivery string) bool {
	return m == nil || !m.read && !m.changed.Has(delivery) || m.omitted.Has(delivery)
}

// evidence is what members show of each wrapper, within the bounds of the memory. It is not safe for concurrent use.
type evidence struct {
	memory  memory
	sets    map[wrapperID]*rules.Set
	members map[string]*memberRecord
	// changed gets the key of a wrapper whose reports may have changed. It must not block.
	changed func(deliveries.Key)
}

func newEvidence(limit int, changed func(deliveries.Key)) evidence {
	return evidence{memory: memory{limit: limit, byMember: make(map[string]int)},
		sets: make(map[wrapperID]*rules.Set), members: make(map[string]*memberRecord), changed: changed}
}

// show records what a member shows of a wrapper in this Delivery. It returns how many samples and members it did not record, because
// the memory had no room.
func (e *evidence) show(member, delivery string, id wrapperID, shown []rules.Shown, now time.Time) (refused int) {
	set := e.set(id)
	changed, refused := set.Show(member, shown, now)
	if set.Shows(member) {
		e.member(member).shown[delivery] = id
	}
	e.dropEmpty(id)
	if changed {
		e.changed(id.Key)
	}
	return refused
}

// leave records that a member no longer shows anything in this Delivery.
func (e *evidence) leave(member, delivery string) {
	m := e.member(member)
	id, shows := m.shown[delivery]
	delete(m.shown, delivery)
	if set := e.sets[id]; shows && set != nil && set.Leave(member) {
		e.changed(id.Key)
	}
	e.dropEmpty(id)
}

// keepOnly keeps what these members show of a wrapper, and removes what all other members show. There must be evidence about the wrapper.
func (e *evidence) keepOnly(id wrapperID, members sets.Set[string]) {
	for _, member := range e.sets[id].Members() {
		if !members.Has(member) {
			e.leave(member, id.Delivery())
		}
	}
	e.dropEmpty(id)
}

// close removes everything that members show of a wrapper.
func (e *evidence) close(id wrapperID) {
	set := e.sets[id]
	if set == nil {
		return
	}
	for _, member := range set.Members() {
		delete(e.member(member).shown, id.Delivery())
	}
	set.Close()
	delete(e.sets, id)
}

// forget removes everything about a member.
func (e *evidence) forget(member string) {
	for delivery := range e.member(member).shown {
		e.leave(member, delivery)
	}
	delete(e.members, member)
}

// restore adds a report that an earlier process of the manager wrote. It keeps only those members of the report whose evidence this
// process does not know yet. It also drops each member for which counts(member) is false.
func (e *evidence) restore(id wrapperID, report rules.Key, status *v1alpha1.MemberReportStatus, counts func(member string) bool) {
	set := e.set(id)
	set.Restore(report, status, func(member string) bool {
		return e.members[member].isUnread(id.Delivery()) && counts(member)
	})
	for _, member := range status.Clusters {
		if set.Shows(member) {
			e.member(member).shown[id.Delivery()] = id
		}
	}
	e.dropEmpty(id)
}

// reports returns the reports of a wrapper.
func (e *evidence) reports(id wrapperID) []rules.Report {
	if set := e.sets[id]; set != nil {
		return set.Reports()
	}
	return nil
}

func (e *evidence) set(id wrapperID) *rules.Set {
	if e.sets[id] == nil {
		e.sets[id] = rules.NewSet(&e.memory, weigh)
	}
	return e.sets[id]
}

func (e *evidence) dropEmpty(id wrapperID) {
	if set := e.sets[id]; set != nil && len(set.Members()) == 0 {
		delete(e.sets, id)
	}
}

func weigh(e *v1alpha1.Evidence) int {
	return boundedread.EvidenceWeight([]v1alpha1.ObjectEvidence{{Evidence: *e}})
}

func (e *evidence) member(name string) *memberRecord {
	if e.members[name] == nil {
		e.members[name] = &memberRecord{omitted: sets.New[string](), changed: sets.New[string](), shown: make(map[string]wrapperID)}
	}
	return e.members[name]
}
