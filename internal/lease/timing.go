// SPDX-License-Identifier: Apache-2.0

package lease

import "time"

// maxClockError limits the error in the rate of a machine's clock that the fence tolerates: one part in 100. NTP
// corrects a clock by at most one part in 2,000.
const maxClockError = 100

// Timing holds the numbers of the lease and of the fence. Each is measured with the clock of one machine. No machine
// compares its clock with another machine's.
type Timing struct {
	// Duration is how long another manager waits after it last saw the lease change.
	Duration time.Duration
	// Renew is the age at which the leader renews the lease.
	Renew time.Duration
	// Retry is the shortest pause between two reads of a standby. The elector adds up to 120 %. The leader also checks
	// at this interval whether a renewal is due.
	Retry time.Duration
	// Request is how long one request about the lease may take.
	Request time.Duration
	// GiveUp is how long the leader tries one renewal. If no try succeeds, its process ends.
	GiveUp time.Duration
	// Begin is the age from which no write to a member begins.
	Begin time.Duration
	// Cancel is the age at which a write that is under way is canceled.
	Cancel time.Duration
	// HoldOff is how long a manager that took back its predecessor's lease writes to no member. In that time the
	// requests that the predecessor had sent arrive or fail.
	HoldOff time.Duration
}

// Default returns the manager's timing. TestTheFenceFallsBeforeAnotherManagerBegins checks the conditions that it has
// to meet.
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

// Tenure is what a manager knows about its own lease.
type Tenure struct {
	// Renewed is when the last accepted renewal began. It is zero while the manager does not hold the lease.
	Renewed time.Time
	// TakenBack is when the API server accepted that the manager took back its predecessor's lease. It is zero for a
	// lease that was free or had expired.
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
		// This is the monotonic clock, which is never set. A wall clock that is set back by hours would stop the writes
		// for hours. A wall clock that is set forward would end the pause too early.
		since := now.Sub(of.TakenBack)
		v.Wait = min(t.HoldOff, max(0, t.HoldOff-since))
	}
	return v
}

// Slack returns the real time between two events after the last renewal, with both clocks at their worst. First, the
// old leader cancels its last write; its clock is slow. Second, another manager can take the lease at the earliest; its
// clock is fast. The other manager sees the renewal after it began, which only adds to the slack.
func (t Timing) Slack() time.Duration {
	return faster(t.Duration) - slower(t.Cancel)
}

// slower returns the longest real time that passes while a machine's clock advances by d.
func slower(d time.Duration) time.Duration { return d + d/maxClockError }

// faster returns the shortest real time that passes while a machine's clock advances by d.
func faster(d time.Duration) time.Duration { return d * maxClockError / (maxClockError + 1) }

// elapsed returns the longer of two times: by the monotonic clock and by the wall clock. The monotonic clock stands
// still while the machine sleeps. A wall clock that is set back hides time.
func elapsed(since, now time.Time) time.Duration {
	return max(now.Sub(since), now.Round(0).Sub(since.Round(0)))
}
