// SPDX-License-Identifier: Apache-2.0

package rollout

import "time"

// State is the part of a rollout that must survive a restart of the manager. It changes when the wave or the phase
// changes, and not with each member, because each change is a write to the host.
type State struct {
	// ID identifies this rollout in Approvals. An Approval with the id of an earlier rollout has no effect, even for the
	// same revision.
	ID string
	// Revision is the name of the revision that the rollout brings to the members.
	Revision string
	Phase    Phase
	// Wave is the name of the current wave; "" if all waves have passed, or if the rollout rolls back.
	Wave string
	// Begun is true as soon as the first member of the current wave may be updated. A wave that has begun continues even if
	// its Approval is deleted or the rollout is suspended.
	Begun bool
	// Since is when Wave became the current wave.
	Since time.Time
	// Plan is a digest of the names and selections of the waves. If they change before all waves have passed, Decide begins a new
	// rollout.
	Plan string
	// LastGood is the newest revision that was Healthy on every placed member that the manager could reach.
	LastGood string
	// Failure is why the phase is Paused, RollingBack or RolledBack; nil in the other phases.
	Failure *Failure
	// Retried is when the manager last tried the revision again; zero if it has not. No progress deadline begins before
	// that time.
	Retried time.Time
	// RetrySeen is the creation time of the newest Approval with `allow: Retry` that existed at the failure, or that the
	// manager has used since. Only a newer Approval starts a retry. The host's API server sets the creation times of
	// all Approvals, so a wrong clock of the manager does no harm.
	RetrySeen time.Time
}

// Phase is the phase of a rollout.
type Phase string

// The phases of a rollout. Progressing and Complete are those of a rollout without a failure.
const (
	Progressing Phase = "Progressing"
	Complete    Phase = "Complete"
	Paused      Phase = "Paused"      // after a failure: no update starts
	RollingBack Phase = "RollingBack" // after a failure: members go back to the last good revision
	RolledBack  Phase = "RolledBack"  // after a failure: every member that the manager can reach has the last good revision
)

// Failure is the first failure of a rollout. State keeps it until a new revision goes out, or until a retry.
type Failure struct {
	Revision, Wave string
	// Member is the name of the failed member that comes first in alphabetical order.
	// Reason is the reason of that member's state, and Message explains the state to a person.
	Member, Reason, Message string
	// Count is how many members of the wave failed.
	Count int
	// At is when the manager noticed the failure.
	At time.Time
	// NoGoodRevision is true if OnFailure is Rollback and there is no earlier revision that was Healthy on every
	// member.
	NoGoodRevision bool
}

// Approvals are the Approvals of one rollout. The caller must select those that name the wrapper and State.ID.
type Approvals struct {
	// Waves are the names of waves that may begin. Skip are the names of members that a person skipped: no wave waits
	// for such a member, and its failure does not count.
	Waves, Skip []string
	// Retry is the creation time of the newest Approval with `allow: Retry`; zero if none exists.
	Retry time.Time
}
