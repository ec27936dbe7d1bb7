// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/overrides/selection"
)

// tick is the smallest step of time in the model.
const tick = time.Minute

var epoch = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

// world is a small model of a fleet and its manager. Its clock always shows epoch: when time passes, the ages in the
// model grow instead.
type world struct {
	members  []worldMember
	state    State
	revision int
	// left has, for each revision after the first, the member that the edit did not change: its index, or everyone.
	left     []int
	approved bool // whether a person has approved the current wave of the present rollout
	retry    bool
	// reinstalls is true if the wrapper is an operator with rollback: Reinstall. Then every odd revision has a later version than
	// every even one, and OLM cannot downgrade.
	reinstalls bool
	// rereads is true if a restarted manager knows nothing of a member until it has read the member.
	rereads bool
	// allSuspended is true while spec.suspend is All.
	allSuspended bool
	// The numbers of events of each kind that may still happen. A partial edit leaves one member as it is.
	edits, partial, labels, suspends, faults, restarts, retries int
}

// everyone in world.left stands for an edit that changes every member.
const everyone = -1

// worldMember is one member. told is the target in the manager's memory, and written the target in the Delivery.
type worldMember struct {
	told, written string // renderings; "" for none
	// toldOf and writtenOf are the revisions of these renderings.
	toldOf, writtenOf string
	// beforeRetry is true if health is older than the last retry.
	beforeRetry bool
	// isRelabelled is true if a label of the member has changed, and with it each of its renderings.
	isRelabelled bool
	// proven is what the manager's memory has: a rollout was Complete with the target.
	proven bool
	// pushing is true from the manager's decision on a new target until the API server answers the write of the
	// Delivery.
	pushing bool
	// unread is true from a restart of the manager until the manager has read the member.
	unread bool
	health v1alpha1.ClusterState
	// age is how long health has had its present value, and progress how long the progress deadline has run, both in
	// ticks.
	age, progress int
	// isLater is true if OLM has installed the later version. reinstall is how far the way back is, and may is the last decision
	// about it.
	isLater   bool
	reinstall Reinstall
	may       bool
}

// oldest is the greatest age that the model counts: deadline and soak are over then.
const oldest = 2

var (
	modelDeadline = 2 * tick
	modelSoak     = tick
)

// named returns a selection of the members with these names.
func named(names ...string) *v1alpha1.ClusterSelection {
	return &v1alpha1.ClusterSelection{Names: names}
}

func name(i int) string { return "m" + strconv.Itoa(i) }

func compiled(t testing.TB, s Strategy) *Plan {
	t.Helper()
	p, err := Compile(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (w *world) clone() *world {
	c := *w
	c.members = append([]worldMember(nil), w.members...)
	c.left = append([]int(nil), w.left...)
	if w.state.Failure != nil {
		f := *w.state.Failure
		c.state.Failure = &f
	}
	return &c
}

func ago(ticks int) time.Time { return epoch.Add(-time.Duration(ticks) * tick) }

// input returns what the manager knows of the world.
func (w *world) input() Input {
	in := Input{Revision: rev(w.revision), Suspended: w.allSuspended, AllSuspended: w.allSuspended}
	for i, m := range w.members {
		out := Member{
			Member: selection.Member{Name: name(i)}, Target: m.told, Revision: m.toldOf, Newest: w.rendering(i, in.Revision), Good: w.good(i),
			State: m.health, Since: ago(m.age), ProgressFrom: ago(m.progress), Reinstall: m.reinstall,
			Proven: m.proven || w.isProving(), BeforeRetry: m.beforeRetry && !w.state.Retried.IsZero(),
		}
		if m.unread {
			out.State, out.Since, out.Target, out.Revision, out.Reinstall = v1alpha1.StateUnknown, epoch, "", "", NoReinstall
		} else if m.pushing && m.health != v1alpha1.StateUnreachable {
			out.State, out.Since, out.ProgressFrom = v1alpha1.StatePushing, epoch, epoch
			if out.Reinstall == ReinstallNeeded {
				out.Reinstall = NoReinstall // the line says only that the manager pushes
			}
		}
		in.Members = append(in.Members, out)
	}
	if w.approved {
		in.Approvals.Waves = []string{"last"}
	}
	if w.retry {
		in.Approvals.Retry = epoch
	}
	return in
}

func rev(n int) string { return "r" + strconv.Itoa(n) }

// rendering returns the rendering of a revision for the member at index i: the name of the revision that changed the member last, with
// a mark if a label of the member has changed.
func (w *world) rendering(i int, revision string) string {
	n, err := strconv.Atoi(strings.TrimPrefix(revision, "r"))
	for ; err == nil && n > 0 && w.left[n-1] == i; n-- {
		revision = rev(n - 1)
	}
	if w.members[i].isRelabelled {
		return "'" + revision
	}
	return revision
}

// good returns the rendering of the last good revision for the member at index i, as the manager finds it.
func (w *world) good(i int) string {
	switch lastGood := w.state.LastGood; lastGood {
	case "":
		return ""
	case w.members[i].toldOf:
		return w.members[i].told
	default:
		return w.rendering(i, lastGood)
	}
}

// isProving reports whether the members' targets are those of a Complete rollout, or of none.
func (w *world) isProving() bool { return w.state.ID == "" || w.state.Phase == Complete }

// decide makes a decision, and then stores the targets in the manager's memory and the State in the status.
func (w *world) decide(p *Plan) (Input, Decision) {
	in := w.input()
	d := p.Decide(in, w.state, epoch)
	if d.State.ID != w.state.ID {
		w.approved = false
	}
	if d.State.Failure == nil {
		w.retry = false
	}
	isRetry := !d.State.Retried.IsZero() && !d.State.Retried.Equal(w.state.Retried)
	w.state = d.State
	for i := range w.members {
		m := &w.members[i]
		m.beforeRetry = m.beforeRetry || isRetry
		if m.unread { // a rule of violation is that the decision gives it no target
			continue
		}
		changes := m.told != d.Targets[i].Rendering
		m.proven = in.Members[i].Proven && !changes
		m.pushing = m.pushing || changes
		m.told, m.toldOf, m.may = d.Targets[i].Rendering, d.Targets[i].Revision, d.Targets[i].MayReinstall
		if m.told != "" && m.told == in.Members[i].Newest {
			m.toldOf = in.Revision
		}
	}
	return in, d
}

// key identifies the world by everything that can affect a decision. Two worlds with the same key have the same
// possible futures.
func (w *world) key() string {
	s, b := &w.state, make([]byte, 0, 128)
	flag := func(f bool) byte {
		if f {
			return 'y'
		}
		return 'n'
	}
	digit := func(n int) byte { return byte('0' + n) }
	b = append(b, digit(w.revision), digit(w.edits), digit(w.partial), digit(w.labels), digit(w.suspends), digit(w.faults), digit(w.restarts), digit(w.retries),
		flag(w.approved), flag(w.retry), flag(w.allSuspended), flag(s.Begun), flag(s.ID == ""))
	for _, i := range w.left {
		b = append(b, digit(i+1))
	}
	b = append(append(append(append(b, s.Phase...), s.Wave...), '/'), s.LastGood...)
	if s.Failure != nil {
		b = append(b, 'F', digit(min(oldest, int(epoch.Sub(s.Failure.At)/tick))))
	}
	if !s.Retried.IsZero() {
		b = append(b, 'R', digit(min(oldest, int(epoch.Sub(s.Retried)/tick))))
	}
	for _, m := range w.members {
		b = append(append(append(append(append(append(b, '|'), m.told...), '/'), m.written...), m.health[:3]...), digit(m.age), digit(m.progress), flag(m.pushing), flag(m.unread),
			digit(int(m.reinstall)), flag(m.may), flag(m.isLater), flag(m.proven), flag(m.isRelabelled), flag(m.beforeRetry && !s.Retried.IsZero()))
		b = append(append(append(b, m.toldOf...), '/'), m.writtenOf...)
	}
	return string(b)
}

func (m *worldMember) become(health v1alpha1.ClusterState) {
	if m.health == v1alpha1.StateHealthy {
		m.progress = 0
	}
	m.health, m.age, m.beforeRetry = health, 0, false
	if health == v1alpha1.StateHealthy && m.reinstall == ReinstallSettling {
		m.reinstall = NoReinstall
	}
}

// write copies the target from the manager's memory into the member's Delivery.
func (m *worldMember) write() {
	m.pushing, m.writtenOf = false, m.toldOf
	if m.written != m.told {
		m.written, m.progress = m.told, 0
		m.become(v1alpha1.StateProgressing)
	}
}

// install lets OLM install the version that the Delivery has. It cannot go back to an earlier one.
func (m *worldMember) install() {
	later := (m.written[len(m.written)-1]-'0')%2 == 1
	switch {
	case m.reinstall == ReinstallBegun: // the manager finishes for the new target
	case m.reinstall == ReinstallSettling && (later || !m.isLater):
		m.isLater = later
	case m.isLater && !later:
		m.reinstall = ReinstallNeeded
		m.become(v1alpha1.StateDegraded)
	default:
		m.isLater, m.reinstall = later, NoReinstall
	}
}

// advanceReinstall makes the next step of a reinstall, if the last decision allows it.
func (m *worldMember) advanceReinstall() {
	switch {
	case m.reinstall == ReinstallBegun:
		m.reinstall, m.isLater = ReinstallSettling, (m.written[len(m.written)-1]-'0')%2 == 1
		m.become(v1alpha1.StateProgressing)
	case !m.may:
		if m.reinstall == ReinstallAnnounced {
			m.reinstall = ReinstallNeeded
			m.become(v1alpha1.StateDegraded)
		}
	case m.reinstall == ReinstallNeeded || m.reinstall == ReinstallKept:
		m.reinstall = ReinstallAnnounced
		m.become(v1alpha1.StateProgressing)
	case m.reinstall == ReinstallAnnounced:
		m.reinstall = ReinstallBegun
	}
}

// writeOn writes the target to a member, and lets OLM act on it.
func (w *world) writeOn(m *worldMember) {
	changes := m.written != m.told
	m.write()
	if w.reinstalls && changes && m.written != "" {
		m.install()
	}
}

// hasEnded reports whether the rollout is complete, or has stopped, and every member has its target and is Healthy.
func (w *world) hasEnded() bool {
	phase := w.state.Phase
	if phase != Paused && phase != RolledBack && phase != Complete {
		return false
	}
	for i := range w.members {
		m := &w.members[i]
		waits := phase == Paused && (m.reinstall == ReinstallNeeded || m.reinstall == ReinstallKept) // for a person, as RolloutStopped says
		if m.told != m.written || m.written != "" && m.health != v1alpha1.StateHealthy && !waits || phase == Complete && m.told != w.rendering(i, rev(w.revision)) {
			return false
		}
	}
	return true
}

// grow lets one tick of time pass.
func (w *world) grow() {
	for i := range w.members {
		m := &w.members[i]
		m.age = min(oldest, m.age+1)
		if m.reinstall != ReinstallAnnounced && !w.allSuspended { // the deadline stands still until the removal begins, and while all is suspended
			m.progress = min(oldest, m.progress+1)
		}
	}
	if w.state.Failure != nil {
		w.state.Failure.At = w.state.Failure.At.Add(-tick)
	}
	if !w.state.Retried.IsZero() {
		w.state.Retried = w.state.Retried.Add(-tick)
	}
}

func amount(text string) *intstr.IntOrString {
	a := intstr.Parse(text)
	return &a
}
