// SPDX-License-Identifier: Apache-2.0

package lease

import "time"

// maxClockError bounds the error in the rate of a machine's clock: the fence tolerates an error of one part in
// maxClockError. NTP corrects a clock by at most one part in 2,000.
const maxClockError = 100

// Timing holds the durations of the lease and of the fence. Each duration is measured with the clock of one machine. No
// machine compares its clock with another machine's.
type Timing struct {
	// Duration is the validity of the lease: how long another manager waits, after it last read a change of the lease,
	// before it takes the lease.
	Duration time.Duration
	// Renew is the age of the lease at which the leader renews it.
	Renew time.Duration
	// Retry is the shortest time after which a manager that is not the leader reads the lease again; the elector adds up to
	// 120 % at random. The leader checks at the interval Retry whether a renewal is due.
	Retry time.Duration
	// Request is how long one request about the lease may take.
	Request time.Duration
	// GiveUp is how long the leader tries one renewal. If no try succeeds, its process ends.
	GiveUp time.Duration
	// Begin is the age of the lease from which the leader begins no write to a member.
	Begin time.Duration
	// Cancel is the age of the lease at which the leader cancels its writes that are under way.
	Cancel time.Duration
	// HoldOff is the pause after a manager took back its predecessor's lease. During the pause the manager writes to no
	// member, so that requests which the predecessor had sent arrive or fail before the first write.
	HoldOff time.Duration
}

// Default returns the manager's timing. TestTheFenceFallsBeforeAnotherManagerBegins checks the conditions that these
// numbers have to meet.
func Default() Timing {
	return Timing{
		Duration: 15 * time.Second,
		Renew:    5 * time.Second,
		Retry:    time.Second,
		Request:  3 * time.Second,
		GiveUp:   8 * time.Second,
		Begin:    10 * time.Second,
		Cancel:   12 * time.Second,
		HoldOff:  5 * time.Second,
	}
}

// Tenure holds the times by which a manager judges whether it is still the leader.
type Tenure struct {
	// Renewed is the time at which the last accepted renewal began. It is zero while the manager does not hold the
	// lease.
	Renewed time.Time
	// TakenBack is the time at which the API server accepted that the manager took back its predecessor's lease. It is
	// zero for a lease that was free or had expired.
	TakenBack time.Time
}

// Verdict is what a manager may do to members at a given time.
type Verdict struct {
	// Age is the age of the lease. It has no meaning while Held is false.
	Age time.Duration
	// Held is false while the manager does not hold the lease.
	Held bool
	// MayBegin is true if a write may begin after Wait.
	MayBegin bool
	// Wait is how much longer a write has to wait because the manager took the lease back.
	Wait time.Duration
	// Left is how much longer a write that is under way may last. At 0 it is canceled.
	Left time.Duration
}

// Judge returns what a manager may do at the time now. It is pure.
func (t Timing) Judge(of Tenure, now time.Time) Verdict {
	if of.Renewed.IsZero() {
		return Verdict{}
	}
	v := Verdict{Age: elapsed(of.Renewed, now), Held: true}
	v.MayBegin = v.Age < t.Begin
	v.Left = max(0, t.Cancel-v.Age)
	if !of.TakenBack.IsZero() {
		// Sub uses the monotonic clock, which is never set. A wall clock that is set back by hours would stop the
		// writes for hours. A wall clock that is set forward would end the pause too early.
		since := now.Sub(of.TakenBack)
		v.Wait = min(t.HoldOff, max(0, t.HoldOff-since))
	}
	return v
}

// Slack returns the shortest real time between two moments: when the old leader cancels its last write, and when another
// manager can take the lease. It assumes that the old leader's clock is slow and the other manager's clock is fast. In
// reality the time is longer, because the other manager reads the last renewal some time after it began.
func (t Timing) Slack() time.Duration {
	return faster(t.Duration) - slower(t.Cancel)
}

// slower returns the longest real time that passes while a machine's clock advances by d.
func slower(d time.Duration) time.Duration { return d + d/maxClockError }

// faster returns the shortest real time that passes while a machine's clock advances by d.
func faster(d time.Duration) time.Duration { return d * maxClockError / (maxClockError + 1) }

// elapsed returns the longer of two times: the time by the monotonic clock and the time by the wall clock. Each clock can
// show too little. The monotonic clock stands still while the machine sleeps. The wall clock can be set back.
func elapsed(since, now time.Time) time.Duration {
	return max(now.Sub(since), now.Round(0).Sub(since.Round(0)))
}
