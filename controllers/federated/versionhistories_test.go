// SPDX-License-Identifier: Apache-2.0

package federated

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/controllers/federated/rolloutstate"
	"github.com/fairlead-dev/fairlead/controllers/federated/wrapperevents"
	"github.com/fairlead-dev/fairlead/federate/rollout"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
	"github.com/fairlead-dev/fairlead/overrides/selection"
)

// fleetOfOperators simulates a fleet with OLM, and a manager that takes versions and rolls them out. A version is a
// number; 0 means no version.
type fleetOfOperators struct {
	t       *testing.T
	now     time.Time
	w       *v1alpha1.Federated
	r       *Reconciler
	plan    *rollout.Plan
	members []*operatorMember
	bad     map[int]bool // versions that do not work
	// worked has, for each member of the first wave, the versions with which the member was Healthy. It also has each
	// version that the manager took while the member did not answer, because the waves may pass over such a member.
	worked map[string]map[int]bool
	// retry is the creation time of the last Approval that allows Retry. approved is true if a person approves waves.
	retry    time.Time
	approved bool
}

// operatorMember is one simulated member. installed is the version that OLM has installed, and head the newest version
// in its catalog. target is the version in the Subscription that the manager pushed: -1 before the first push, 0 for
// Latest.
type operatorMember struct {
	name                    string
	target, installed, head int
	away                    bool
	since, progressFrom     time.Time
	state                   v1alpha1.ClusterState
}

func versionName(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf("a.v1.%d.0", n)
}

func newFleetOfOperators(t *testing.T, first int) *fleetOfOperators {
	t.Helper()
	f := &fleetOfOperators{t: t, now: now, w: latestVersion(), bad: make(map[int]bool), worked: make(map[string]map[int]bool)}
	var canaries []string
	for i := range 5 {
		m := &operatorMember{name: fmt.Sprintf("m%d", i), target: -1, head: 1, since: now, progressFrom: now}
		f.members = append(f.members, m)
		if i < first {
			canaries = append(canaries, m.name)
			f.worked[m.name] = make(map[int]bool)
		}
	}
	last := build.ManualWave("rest")
	canary := build.Wave("canary", canaries...)
	canary.SoakSeconds = new(int32(60))
	f.w.Spec.Rollout.Waves = []v1alpha1.RolloutWave{canary, build.Wave("second", "m3"), last}
	var err error
	if f.plan, err = rollout.Compile(rollout.StrategyOf(&f.w.Spec.Rollout)); err != nil {
		t.Fatal(err)
	}
	f.r = &Reconciler{client: writtenAtOnce{}, events: wrapperevents.Bounded{EventRecorder: noEvents{}}}
	return f
}

// writtenAtOnce is a host that accepts each write of a status.
type writtenAtOnce struct{ client.Client }

func (writtenAtOnce) Status() client.SubResourceWriter { return noWriter{} }

type noWriter struct{ client.SubResourceWriter }

func (noWriter) Patch(context.Context, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
	return nil
}

type noEvents struct{}

func (noEvents) Eventf(runtime.Object, runtime.Object, string, string, string, string, ...any) {}

// judge sets the states of the members as their collectors would report them.
func (f *fleetOfOperators) judge() {
	for _, m := range f.members {
		state := v1alpha1.StateProgressing
		switch {
		case m.away:
			state = v1alpha1.StateUnreachable
			if f.worked[m.name] != nil {
				f.worked[m.name][f.taken()] = true
			}
		case m.target < 0, m.target == 0 && m.installed == 0:
			state = v1alpha1.StateWaiting
		case m.target == 0, m.installed == m.target && !f.bad[m.installed]:
			state = v1alpha1.StateHealthy
		}
		if state == v1alpha1.StateHealthy {
			m.progressFrom = f.now
			if f.worked[m.name] != nil {
				f.worked[m.name][m.installed] = true
			}
		}
		if m.state != state {
			m.state, m.since = state, f.now
		}
	}
}

// reconcile makes one reconcile of the manager. As after a restart, the manager knows only the wrapper's status from
// earlier reconciles.
func (f *fleetOfOperators) reconcile() {
	f.t.Helper()
	f.judge()
	p := &reconciliation{Reconciler: f.r, key: web, wrapper: f.w, now: f.now}
	state := rolloutstate.Of(f.w.Status.Rollout)
	if !f.retry.IsZero() {
		retry := v1alpha1.Approval{Spec: v1alpha1.ApprovalSpec{Allow: v1alpha1.AllowRetry, Rollout: state.ID, Revision: state.Revision}}
		retry.CreationTimestamp = metav1.NewTime(f.retry)
		p.approvals = append(p.approvals, retry)
	}
	before := f.taken()
	first := &firstWave{name: "canary"}
	for _, m := range f.members {
		if f.worked[m.name] == nil || m.away || m.target < 0 {
			continue
		}
		report := v1alpha1.ObservedSubscription{Name: "a", TargetCSV: v1alpha1.TargetLatest}
		if !f.bad[m.installed] {
			report.InstalledCSV = versionName(m.installed)
		}
		if m.head > m.installed {
			report.OfferedCSV = versionName(m.installed + 1)
		}
		first.members = append(first.members, memberVersions{name: m.name, versions: []v1alpha1.ObservedSubscription{report}})
	}
	p.upgrade = v1alpha1.UpgradeStatus{Subscriptions: []v1alpha1.SubscriptionVersion{{Name: "a"}}}
	if len(f.w.Status.Upgrade.Subscriptions) > 0 {
		p.upgrade = *f.w.Status.Upgrade.DeepCopy()
	}
	if err := p.takeFrom(f.t.Context(), first); err != nil {
		f.t.Fatal(err)
	}
	if f.taken() < before {
		f.t.Fatalf("version %d is given up for %d", before, f.taken())
	}
	f.rollOut(p, state)
}

func (f *fleetOfOperators) taken() (n int) {
	if s := f.w.Status.Upgrade.Subscriptions; len(s) > 0 {
		_, _ = fmt.Sscanf(s[0].CSV, "a.v1.%d.0", &n) // 0 before the manager takes a version
	}
	return n
}

func (f *fleetOfOperators) rollOut(p *reconciliation, state rollout.State) {
	f.t.Helper()
	rendering := func(version int) string {
		if version < 0 {
			return ""
		}
		return fmt.Sprint("rendering of ", version)
	}
	in := rollout.Input{Revision: fmt.Sprint("r", f.taken()), Approvals: p.rolloutApprovals(f.t.Context(), &state)}
	if f.approved {
		in.Approvals.Waves = []string{"rest"}
	}
	for _, m := range f.members {
		member := rollout.Member{Member: selection.Member{Name: m.name}, Target: rendering(m.target), Newest: rendering(f.taken()), State: m.state,
			Since: m.since, ProgressFrom: m.progressFrom}
		if m.target >= 0 {
			member.Revision = fmt.Sprint("r", m.target)
		}
		in.Members = append(in.Members, member)
	}
	decision := f.plan.Decide(in, state, f.now)
	f.w.Status.Rollout = rolloutstate.StatusOf(&decision)
	f.w.Status.ObservedGeneration, f.w.Status.UpdateRevision = f.w.Generation, in.Revision
	for i, m := range f.members {
		if target := decision.Targets[i].Rendering; target == rendering(m.target) || target != rendering(f.taken()) {
			continue
		}
		if f.taken() < m.target {
			f.t.Fatalf("%s is told %d after %d", m.name, f.taken(), m.target)
		}
		if f.worked[m.name] == nil {
			f.checkCanaries(m)
		}
		m.target, m.since, m.progressFrom, m.state = f.taken(), f.now, f.now, v1alpha1.StatePushing
	}
}

// checkCanaries checks that every member of the first wave was Healthy with a version before a member of a later wave
// gets that version.
func (f *fleetOfOperators) checkCanaries(told *operatorMember) {
	f.t.Helper()
	for _, m := range f.members {
		if worked := f.worked[m.name]; worked != nil && f.taken() > 0 && !worked[f.taken()] {
			f.t.Fatalf("%s is told version %d, and %s has never worked with it", told.name, f.taken(), m.name)
		}
	}
}

// olm installs the next version on a member. The manager has approved the InstallPlan for it if that version is not
// above the target.
func (m *operatorMember) olm(bad map[int]bool) {
	if !m.away && m.installed < m.target && m.installed < m.head && !bad[m.installed] {
		m.installed++
	}
}

func (f *fleetOfOperators) happen(random *rand.Rand) {
	m := f.members[random.IntN(len(f.members))]
	f.now = f.now.Add(time.Duration(random.IntN(40)) * time.Second)
	switch random.IntN(12) {
	case 0:
		version := m.head + 1
		f.bad[version] = f.bad[version] || random.IntN(4) == 0
		for _, m := range f.members { // the version appears in all catalogs at once
			m.head = max(m.head, version)
		}
	case 1:
		m.head++
	case 2:
		m.head = max(1, m.head-1) // a version is withdrawn from one catalog
	case 3:
		m.away = !m.away && random.IntN(3) == 0
	case 4:
		f.retry = f.now
	case 5:
		f.approved = random.IntN(2) == 0
	case 6:
		m.target, m.installed, m.since, m.progressFrom = -1, 0, f.now, f.now // another cluster takes the place of the member
	default:
		m.olm(f.bad)
	}
}

func (f *fleetOfOperators) haveAll(version int) bool {
	return !slices.ContainsFunc(f.members, func(m *operatorMember) bool { return m.installed != version })
}

// In these histories versions appear in one catalog or in all, and are withdrawn; some versions do not work; members
// stop answering and are replaced; and the manager remembers only the status. No later wave may get a version with
// which the first wave was not Healthy, and no member may get an earlier version than it has.
func TestInRandomHistoriesAVersionGoesToTheFirstWaveFirst(t *testing.T) {
	taken, everywhere := 0, 0
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 2))
		f := newFleetOfOperators(t, 1+int(seed%3))
		for range 150 {
			f.happen(random)
			f.reconcile()
		}
		taken += f.taken()
		// At the end the catalogs are equal, the offered version works, all members answer, and a person approves. Then all
		// members must get the newest version.
		head := 0
		for _, m := range f.members {
			head = max(head, m.head+1, m.installed)
		}
		clear(f.bad)
		for _, m := range f.members {
			m.head, m.away = head, false
		}
		f.approved = true
		for rounds := 0; rounds < 20*head && !f.haveAll(head); rounds++ {
			f.now = f.now.Add(40 * time.Second)
			if f.w.Status.Rollout.HasFailed() {
				f.retry = f.now
			}
			for _, m := range f.members {
				m.olm(f.bad)
			}
			f.reconcile()
		}
		for _, m := range f.members {
			if m.installed != head {
				t.Fatalf("seed %d: %s has %d and not %d: %+v, %+v, %+v", seed, m.name, m.installed, head, *m, f.w.Status.Rollout, f.w.Status.Upgrade)
			}
			everywhere++
		}
	}
	t.Logf("%d versions were taken, and %d members got the last one", taken, everywhere)
	if taken < 100 {
		t.Error("too few versions were taken to show anything")
	}
}
