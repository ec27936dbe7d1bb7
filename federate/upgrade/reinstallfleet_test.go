// SPDX-License-Identifier: Apache-2.0

package upgrade_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	operators "github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/federate/upgrade"
)

// fleetMember is a model of one member with OLM, and of the manager that reinstalls an operator there.
type fleetMember struct {
	t      *testing.T
	random *rand.Rand
	now    time.Time
	// operator has what is on the member, and the policy. operator.Begun is the annotation of the Delivery.
	operator *upgrade.Operator
	// memory is what a death of the manager loses.
	memory *upgrade.Announcement
	uids   int
	log    []string
}

func (m *fleetMember) say(format string, args ...any) {
	m.log = append(m.log, fmt.Sprintf(format, args...))
}

// step lets the manager make one step. dies is true if the manager dies right after its request.
func (m *fleetMember) step(dies bool) upgrade.Reinstall {
	m.operator.Announced = m.memory
	is := upgrade.DecideReinstall(m.operator, m.now)
	m.say("%s step %d %s", m.now.Format(time.TimeOnly), is.Step, is.Message)
	switch is.Step {
	case upgrade.Announce:
		if m.memory == nil || !m.memory.Removal.Same(&is.Removal) || !m.memory.Shown.IsZero() {
			m.memory = &upgrade.Announcement{Removal: is.Removal}
		}
		if m.random.IntN(3) > 0 { // a status is written, sooner or later
			m.memory.Shown = m.now
		}
	case upgrade.Begin:
		if m.memory == nil || m.now.Sub(m.memory.Shown) < upgrade.AnnouncedFor {
			m.fail("the reinstall begins without an announcement of %s", upgrade.AnnouncedFor)
		}
		m.operator.Begun = &upgrade.Begun{Removal: is.Removal, At: metav1.NewTime(m.now)}
		m.memory = nil
	case upgrade.Remove:
		m.remove(&is)
	case upgrade.Create:
		m.create()
	case upgrade.End:
		m.operator.Begun.Ended, m.operator.Begun.Settled = &metav1.Time{Time: m.now}, is.Settles
	case upgrade.None, upgrade.Keep, upgrade.WaitForTurn, upgrade.AwaitAnnounced, upgrade.AwaitRemoval:
	}
	if dies {
		m.say("the manager dies")
		m.memory = nil
	}
	return is
}

func (m *fleetMember) fail(format string, args ...any) {
	m.t.Helper()
	for _, line := range m.log {
		m.t.Log(line)
	}
	m.t.Fatalf(format, args...)
}

func (m *fleetMember) remove(is *upgrade.Reinstall) {
	b := m.operator.Begun
	if !is.NextIsCSV {
		if is.Next != b.Subscription {
			m.fail("it removes Subscription %v, which was not announced", is.Next)
		}
		m.operator.Subscriptions = nil
		return
	}
	order, _ := upgrade.Order("db.v1.3.0", m.operator.Target)
	if age := m.now.Sub(b.At.Time); age > 10*time.Minute || !m.operator.IsPolicy || order <= 0 || b.Ended != nil {
		m.fail("it removes CSV %v %s after the record, with target %s and policy %v", is.Next, age, m.operator.Target, m.operator.IsPolicy)
	}
	if !slices.Contains(b.CSVs, is.Next) {
		m.fail("it removes CSV %v, which was not announced", is.Next)
	}
	for i := range m.operator.CSVs {
		if m.operator.CSVs[i].UID == is.Next.UID {
			m.operator.CSVs[i].IsDeleted = true
		}
	}
}

func (m *fleetMember) create() {
	if len(m.operator.Subscriptions) > 0 {
		m.fail("it creates a second Subscription")
	}
	m.uids++
	s := ahead().Subscriptions[0]
	s.UID, s.Spec.StartingCSV, s.Status = types.UID(fmt.Sprintf("sub-new-%d", m.uids)), m.operator.Target, operators.SubscriptionStatus{}
	s.Annotations["federation.fairlead.dev/target-csv"] = m.operator.Target
	m.operator.Subscriptions = []operators.Subscription{s}
}

// live lets OLM and time go on.
func (m *fleetMember) live() {
	m.now = m.now.Add(time.Duration(m.random.IntN(20)) * time.Second)
	m.operator.CSVs = slices.DeleteFunc(m.operator.CSVs, func(c upgrade.CSV) bool { return c.IsDeleted && m.random.IntN(2) == 0 })
	if len(m.operator.Subscriptions) == 0 {
		return
	}
	s := &m.operator.Subscriptions[0]
	// OLM installs the startingCSV of a new Subscription where nothing is installed. It does not upgrade a Subscription whose
	// installed CSV is gone.
	if s.Status.InstalledCSV == "" && len(m.operator.CSVs) == 0 && m.random.IntN(2) == 0 {
		m.uids++
		c := csvOf(s.Spec.StartingCSV, "")
		c.UID = types.UID(fmt.Sprintf("csv-new-%d", m.uids))
		m.operator.CSVs = []upgrade.CSV{c}
		s.Status.InstalledCSV, s.Status.CurrentCSV = c.Name, c.Name
	}
}

// retarget lets the author change the target in the middle. The push writes it onto the Subscription, if there is one.
func (m *fleetMember) retarget(target string) {
	m.say("the target is %s now", target)
	m.operator.Target, m.operator.Desired.StartingCSV = target, target
	if len(m.operator.Subscriptions) > 0 {
		s := &m.operator.Subscriptions[0]
		s.Annotations["federation.fairlead.dev/target-csv"], s.Spec.StartingCSV = target, target
	}
}

// disturb lets something happen that would keep an operator before its reinstall begins.
func (m *fleetMember) disturb() {
	o := m.operator
	switch m.random.IntN(9) {
	case 0:
		o.IsCollected = !o.IsCollected
	case 1:
		o.Facts.Catalog.IsHealthy = !o.Facts.Catalog.IsHealthy
	case 2:
		o.Waits = []string{"", "WaveHeld"}[m.random.IntN(2)]
	case 3:
		o.Facts.Plans = [][]operators.InstallPlan{nil, executed(0)}[m.random.IntN(2)]
	case 4:
		m.retarget([]string{"db.v1.2.0", "db.v1.3.0", "db.v1.1.0"}[m.random.IntN(3)])
	case 5:
		o.IsPolicy = !o.IsPolicy
	case 6:
		o.IsApplied = !o.IsApplied
	case 8: // the manager does not run for a while
		m.now = m.now.Add([]time.Duration{11 * time.Minute, 2 * time.Hour}[m.random.IntN(2)])
		m.memory = nil
	case 7:
		o.Facts.CRDs[0].Stored = [][]string{{"v1"}, {"v1", "v2"}}[m.random.IntN(2)]
	}
}

// A death between any two steps, a change of the target, a dead collector and everything else that can happen in between must
// end in one of two ways: an operator is installed, or the manager never removed anything.
func TestAReinstallNeverLosesTheOperator(t *testing.T) {
	ends := map[string]int{}
	for seed := range uint64(2_000) {
		random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // a reproducible sequence, not a secret
		m := &fleetMember{t: t, random: random, now: now, operator: ahead()}
		if random.IntN(3) == 0 {
			m.operator.CSVs = m.operator.CSVs[:1]
			m.operator.Facts.Catalog = packages("db.v1.2.0")
		}
		m.say("seed %d", seed)
		for range 40 {
			if random.IntN(4) == 0 {
				m.disturb()
			}
			m.step(random.IntN(4) == 0)
			m.live()
		}
		// From here on nothing disturbs.
		m.operator.IsCollected, m.operator.IsApplied, m.operator.Waits, m.operator.Facts.Plans, m.operator.Facts.Catalog.IsHealthy = true, true, "", nil, true
		var last upgrade.Reinstall
		for range 60 {
			last = m.step(false)
			m.live()
		}
		ends[m.end(&last)]++
	}
	t.Logf("%v", ends)
	for _, end := range []string{"the target is installed", "the operator is kept", "the policy is Never"} {
		if ends[end] == 0 {
			t.Errorf("in no history %s", end)
		}
	}
}

// end tells how a history ended, and fails the test if the operator is lost.
func (m *fleetMember) end(last *upgrade.Reinstall) string {
	m.t.Helper()
	if len(m.operator.Subscriptions) != 1 {
		m.fail("the Subscription is gone")
	}
	installed := m.operator.Subscriptions[0].Status.InstalledCSV
	if !slices.ContainsFunc(m.operator.CSVs, func(c upgrade.CSV) bool { return c.Name == installed && !c.IsDeleted }) {
		m.fail("no operator is installed")
	}
	switch {
	case installed == m.operator.Target:
		return "the target is installed"
	case last.Step == upgrade.Keep:
		return "the operator is kept"
	case !m.operator.IsPolicy:
		return "the policy is Never"
	}
	if order, _ := upgrade.Order(installed, m.operator.Target); order < 0 {
		return "an earlier version is installed, and OLM upgrades it" // the author raised the target
	}
	m.fail("%s stays installed, although nothing keeps it: step %d", installed, last.Step)
	return ""
}
