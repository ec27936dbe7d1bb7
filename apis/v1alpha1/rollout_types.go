// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Rollout limits how many members change at the same time, and how many members the wrapper may leave within an hour.
// If waves, maxUnavailable, progressDeadlineSeconds or onFailure is set, the manager rolls each change out in waves,
// and stops when too many members fail. If none of these is set, all members change at the same time.
type Rollout struct {
	// waves are groups of members. The manager changes one group after the other, in the order of this list. A member
	// belongs to the first wave that selects it. The members that no wave selects form a last wave with the name rest.
	// Without waves, all members are in the wave rest.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Waves []RolloutWave `json:"waves,omitempty"`

	// maxUnavailable is how many placed members may be not Healthy at the same time. While that many are not Healthy, the
	// manager does not begin to change another Healthy member, or a member that does not have the wrapper yet. It is a
	// number from 1 to 5000, or a percentage from 1% to 100% of the placed members, rounded up. Members that were not
	// Healthy before the change count too, and so do members that the wrapper is leaving. The limit does not delay the
	// change of a member that is not Healthy. If maxUnavailable is absent, there is no limit.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=4
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 1 && self <= 5000 : string(self).matches('^(100|[1-9][0-9]?)%$')",message="maxUnavailable is a number from 1 to 5000, or a percentage from 1% to 100%"
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`

	// progressDeadlineSeconds is how many seconds one member may take to become Healthy after the manager changed it. A
	// member that takes longer has failed. Time in which the member is Waiting or Held does not count. A member whose API
	// server stops answering after the change, and does not answer for that many seconds, has failed too. Defaults to 600.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=604800
	ProgressDeadlineSeconds int32 `json:"progressDeadlineSeconds,omitempty"`

	// onFailure selects what the manager does when more members of a wave fail than the wave's maxFailures. Neither value
	// changes this spec. Defaults to Pause.
	// - Pause: the manager changes no further member.
	// - Rollback: the manager takes all members back to the newest revision that was Healthy on every member that the
	//   manager could reach. If no such revision exists, Rollback does the same as Pause.
	// +optional
	// +kubebuilder:validation:Enum=Pause;Rollback
	OnFailure FailurePolicy `json:"onFailure,omitempty"`

	// maxRemoval is how many members the wrapper may leave within an hour after a change of its placement, or of the
	// labels of members. It is a number from 1 to 5000, or a percentage from 1% to 100% of the members that were placed
	// before the first removal of that hour, rounded down but at least 1. Further removals wait until the hour is over, or
	// until a person approves them. With 100%, no removal waits. If you delete the wrapper, no removal waits either.
	// Defaults to 30%.
	// +optional
	// +default="30%"
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=4
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 1 && self <= 5000 : string(self).matches('^(100|[1-9][0-9]?)%$')",message="maxRemoval is a number from 1 to 5000, or a percentage from 1% to 100%"
	MaxRemoval *intstr.IntOrString `json:"maxRemoval,omitempty"`
}

// IsPaced reports whether the manager rolls changes out in waves. If not, all members change at the same time.
func (r *Rollout) IsPaced() bool {
	return len(r.Waves) > 0 || r.MaxUnavailable != nil || r.ProgressDeadlineSeconds != 0 || r.OnFailure != ""
}

// RolloutWave is a group of members that a rollout changes together.
type RolloutWave struct {
	// name identifies the wave in status.rollout and in Approvals, for example canary.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="the name of a wave has lower case letters, digits and '-', as a DNS label"
	Name string `json:"name,omitempty"`

	// clusters selects the members of the wave, except those that an earlier wave selects. If clusters is absent, all
	// members that no earlier wave selects belong to this wave.
	// +optional
	Clusters *ClusterSelection `json:"clusters,omitempty"`

	// maxConcurrent is how many members of the wave change at the same time: a number from 1 to 5000, or a percentage from
	// 1% to 100% of the wave's members, rounded up. A member is changing until it is Healthy or has failed. If
	// maxConcurrent is absent, all members of the wave change at the same time.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=4
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 1 && self <= 5000 : string(self).matches('^(100|[1-9][0-9]?)%$')",message="maxConcurrent is a number from 1 to 5000, or a percentage from 1% to 100%"
	MaxConcurrent *intstr.IntOrString `json:"maxConcurrent,omitempty"`

	// soakSeconds is how many seconds all members of the wave have to stay Healthy before the next wave begins. If a
	// member stops being Healthy, the time starts again when that member is Healthy again. Defaults to 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2592000
	SoakSeconds *int32 `json:"soakSeconds,omitempty"`

	// approval selects whether the wave needs the decision of a person before its members change. Defaults to Automatic.
	// - Automatic: the wave begins when all earlier waves have passed.
	// - Manual: the wave also needs an Approval with allow: Wave.
	// +optional
	// +kubebuilder:validation:Enum=Automatic;Manual
	Approval WaveApproval `json:"approval,omitempty"`

	// maxFailures is how many members of the wave may fail while the rollout goes on. When one more member fails, the
	// manager does what onFailure selects. Defaults to 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=5000
	MaxFailures *int32 `json:"maxFailures,omitempty"`
}

// WaveApproval is the type of RolloutWave.Approval.
type WaveApproval string

// The values of WaveApproval. RolloutWave.Approval explains them.
const (
	WaveAutomatic WaveApproval = "Automatic"
	WaveManual    WaveApproval = "Manual"
)

// FailurePolicy is the type of Rollout.OnFailure.
type FailurePolicy string

// The values of FailurePolicy. Rollout.OnFailure explains them.
const (
	FailurePause    FailurePolicy = "Pause"
	FailureRollback FailurePolicy = "Rollback"
)

// RolloutStatus is the state of a wrapper's present rollout, or of its last one if no rollout is under way. The manager
// first writes each step here, and then takes the step. So after a restart it continues the same rollout.
type RolloutStatus struct {
	// id identifies this rollout. An Approval with allow: Wave, Skip or Retry counts only if its spec.rollout has this
	// value. So an Approval of an earlier rollout does not count.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	ID string `json:"id,omitempty"`

	// revision is the revision that the rollout brings to the members. It is the name of a ControllerRevision.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Revision string `json:"revision,omitempty"`

	// state is the state of the rollout.
	// - Progressing: members change, or wait for their turn.
	// - Complete: every wave has passed.
	// - Paused: too many members failed. The manager changes no further member.
	// - RollingBack: too many members failed. The manager takes the members back to lastGoodRevision.
	// - RolledBack: every member that the manager can reach is back at lastGoodRevision.
	// +optional
	// +kubebuilder:validation:Enum=Progressing;Complete;Paused;RollingBack;RolledBack
	State RolloutState `json:"state,omitempty"`

	// wave is the name of the current wave, whose members change now. It is absent when all waves have passed, and during
	// and after a rollback.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Wave string `json:"wave,omitempty"`

	// begun is Yes as soon as the first member of the current wave may change. Until then it is absent. A wave that has
	// begun goes on even if its Approval is deleted, or if spec.suspend becomes Rollout.
	// +optional
	// +kubebuilder:validation:Enum=Yes
	Begun YesMark `json:"begun,omitempty"`

	// since is when the wave in the field wave became the current one. When all waves have passed, it is when the last one
	// passed.
	// +optional
	Since metav1.Time `json:"since,omitempty,omitzero"`

	// soakUntil is when the soakSeconds of the current wave end, if all members of the wave stay Healthy. It is absent
	// while the wave does not soak.
	// +optional
	SoakUntil metav1.Time `json:"soakUntil,omitempty,omitzero"`

	// waitingFor is the reason why the manager changes no further member now, for example WaveNeedsApproval. It is absent
	// when every member has the update revision and is Healthy.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	WaitingFor string `json:"waitingFor,omitempty"`

	// waitingForCluster is the name of one of the members that the reason in waitingFor concerns. It is absent if the
	// reason concerns no single member.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	WaitingForCluster string `json:"waitingForCluster,omitempty"`

	// lastGoodRevision is the newest revision that was Healthy on every member that the manager could reach. It is the
	// name of a ControllerRevision. It is absent if there is no such revision yet.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	LastGoodRevision string `json:"lastGoodRevision,omitempty"`

	// rolledBackFrom is the revision that failed, and from which the members go back. It is the name of a
	// ControllerRevision. It is absent if state is neither RollingBack nor RolledBack.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	RolledBackFrom string `json:"rolledBackFrom,omitempty"`

	// failure tells why the rollout is Paused, RollingBack or RolledBack. It is absent in the other states. It stays until
	// the spec gets a new revision, or until the manager tries this revision again.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:MinProperties=1
	Failure RolloutFailure `json:"failure,omitzero"`

	// wavesDigest is a digest of the names and the selections of the waves. The manager compares it with
	// spec.rollout.waves. If you have edited the waves before all of them have passed, a new rollout begins: it needs new
	// approvals, and the first wave that is not done becomes the current one.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	WavesDigest string `json:"wavesDigest,omitempty"`

	// retried is when the manager last tried this revision again after a failure. The progress deadline of each member
	// begins then, or later. It is absent if the manager has not tried again.
	// +optional
	Retried metav1.Time `json:"retried,omitempty,omitzero"`

	// retrySeen is the creation time of the newest Approval with allow: Retry that the manager has used, or that already
	// existed when the rollout failed. Only an Approval with a later creation time makes the manager try again.
	// +optional
	RetrySeen metav1.Time `json:"retrySeen,omitempty,omitzero"`
}

// Exists reports whether the wrapper has a rollout: one that is under way, or one that has ended.
func (s *RolloutStatus) Exists() bool { return s.ID != "" }

// HasFailed reports whether the rollout is Paused, RollingBack or RolledBack after a failure.
func (s *RolloutStatus) HasFailed() bool { return s.Failure.Revision != "" }

// RolloutFailure is the failure because of which a rollout pauses or rolls back.
type RolloutFailure struct {
	// revision is the revision that failed. It is the name of a ControllerRevision.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Revision string `json:"revision,omitempty"`

	// wave is the name of the wave in which too many members failed.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Wave string `json:"wave,omitempty"`

	// cluster is the name of the failed member that comes first in alphabetical order.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Cluster string `json:"cluster,omitempty"`

	// reason is the reason that the member in cluster had in status.clusters when the rollout failed.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason,omitempty"`

	// message is the message that the member in cluster had in status.clusters when the rollout failed. Secrets that the manager
	// recognizes are redacted. The message stays until a new revision goes out or a person retries.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Message string `json:"message,omitempty"`

	// count is how many members of the wave had failed when the rollout failed.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Count int32 `json:"count,omitempty"`

	// time is when the manager noticed the failure.
	// +optional
	Time metav1.Time `json:"time,omitempty,omitzero"`

	// noGoodRevision is Yes if onFailure is Rollback, but no earlier revision was Healthy on every member that the manager
	// could reach. The rollout then pauses instead. It is absent in all other cases.
	// +optional
	// +kubebuilder:validation:Enum=Yes
	NoGoodRevision YesMark `json:"noGoodRevision,omitempty"`
}

// RolloutState is the type of RolloutStatus.State.
type RolloutState string

// The values of RolloutState. RolloutStatus.State explains them.
const (
	RolloutProgressing RolloutState = "Progressing"
	RolloutComplete    RolloutState = "Complete"
	RolloutPaused      RolloutState = "Paused"
	RolloutRollingBack RolloutState = "RollingBack"
	RolloutRolledBack  RolloutState = "RolledBack"
)

// YesMark is the type of fields that are either Yes or absent.
type YesMark string

// Yes is the only value of YesMark.
const Yes YesMark = "Yes"
