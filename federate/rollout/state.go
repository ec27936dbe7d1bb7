// SPDX-License-Identifier: Apache-2.0

package rollout

import "time"

// State is the part of a rollout that survives a restart of the manager. It changes with the wave and the phase, and not with each
// member: each change is a write to the host.
type State struct {
	// ID identifies this rollout in approvals. An approval of an earlier rollout of the same revision does not count.
	ID string
	// Revision is the revision that goes out.
	Revision string
	Phase    Phase
	// Wave is the name of the current wave; "" when all are passed. Begun is true as soon as its first member may be updated: a
	// wave that has begun continues when an Approval is deleted or the rollout is suspended. Since is when the wave became the current one.
	Wave  string
	Begun bool
	Since time.Time
	// Plan is the identity of the waves. When the waves change, the manager looks for the current wave again.
	Plan string
	// LastGood is the newest revision that was Healthy on every placed member that the manager could reach.
	LastGood string
	// Failure is the reason for the phases Paused, RollingBack and RolledBack.
	Failure *Failure
	// Retried is when the manager last tried the revision again. Deadlines count from it.
	Retried time.Time
	// RetrySeen is the time of the newest approval to try again that existed at the failure, or that was used since. Only a later
	// one counts. Both times are of the host's API server, so the manager's own clock does not matter.
	RetrySeen time.Time
}

// Phase is the phase of a rollout.
type Phase string

// The phases.
const (
	Progressing Phase = "Progressing"
	Complete    Phase = "Complete"
	Paused      Phase = "Paused"      // after a failure: no update starts
	RollingBack Phase = "RollingBack" // after a failure: members go back to the last good revision
	RolledBack  Phase = "RolledBack"  // after a failure: every member that the manager can reach is back
)

// Failure is the first cause of a failed rollout. It is kept until another revision, or an approval to retry.
type Failure struct {
	Revision, Wave string
	// Member is the first member that failed, in the order of names, and Reason why. Count is how many of the wave failed.
	Member, Reason string
	Count          int
	At             time.Time
	// NoGoodRevision is true when onFailure is Rollback and no earlier revision was ever Healthy everywhere.
	NoGoodRevision bool
}

// Approvals are the permissions of persons for one rollout. The caller takes only those that name the wrapper and State.ID.
type Approvals struct {
	// Waves are names of waves that may begin. Skip are members that no wave waits for, and whose failure does not count.
	Waves, Skip []string
	// Retry is when the newest approval to try a failed revision again was created; zero if there is none.
	Retry time.Time
}
