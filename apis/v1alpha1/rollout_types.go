// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Rollout limits how fast members change. With waves, maxUnavailable, progressDeadlineSeconds or onFailure, every
// change goes out member by member. Otherwise all members change at the same time.
type Rollout struct {
	// waves are groups of members, in the order in which they change. A member belongs to the first wave that selects
	// it. The members that no wave selects are the last wave, named rest.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Waves []RolloutWave `json:"waves,omitempty"`

	// maxUnavailable is how many placed members may be not Healthy when the manager begins to change another one. It
	// is a number from 1 to 5000, or a percentage from 1% to 100% of the placed members, rounded up. Members that are
	// not Healthy already, and members that the wrapper is leaving, count. The change of a member that is not Healthy
	// does not wait. Without it there is no limit.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=4
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 1 && self <= 5000 : string(self).matches('^(100|[1-9][0-9]?)%$')",message="maxUnavailable is a number from 1 to 5000, or a percentage from 1% to 100%"
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`

	// progressDeadlineSeconds is how long one member may take to become Healthy after it was changed. The time in which
	// the member is Waiting does not count. A member that takes longer has failed. Defaults to 600.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=604800
	ProgressDeadlineSeconds int32 `json:"progressDeadlineSeconds,omitempty"`

	// onFailure is what the manager does when more members of a wave fail than its maxFailures. Pause changes no
	// further member. Rollback takes all members back to the last revision that was Healthy on every member that the
	// manager could reach. Where there is none, Rollback is Pause. Neither changes this spec. Defaults to Pause.
	// +optional
	// +kubebuilder:validation:Enum=Pause;Rollback
	OnFailure FailurePolicy `json:"onFailure,omitempty"`

	// maxRemoval is how many members the wrapper may leave within an hour after a change of its placement or of the
	// members' labels. It is a number from 1 to 5000, or a percentage from 1% to 100% of the members that had the
	// wrapper when the hour began. The percentage is rounded down, but at least one member may be left. The other
	// members keep the wrapper until the hour is over, or until an Approval. Deleting the wrapper does not wait. With
	// 100% no member waits. Defaults to 30%.
	// +optional
	// +default="30%"
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=4
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 1 && self <= 5000 : string(self).matches('^(100|[1-9][0-9]?)%$')",message="maxRemoval is a number from 1 to 5000, or a percentage from 1% to 100%"
	MaxRemoval *intstr.IntOrString `json:"maxRemoval,omitempty"`
}

// IsPaced reports whether changes go out member by member.
func (r *Rollout) IsPaced() bool {
	return len(r.Waves) > 0 || r.MaxUnavailable != nil || r.ProgressDeadlineSeconds != 0 || r.OnFailure != ""
}

// RolloutWave is one group of members.
type RolloutWave struct {
	// name identifies the wave in status.rollout and in Approvals.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="the name of a wave has lower case letters, digits and '-', as a DNS label"
	Name string `json:"name,omitempty"`

	// clusters selects the members of the wave, among those that no earlier wave selects. Without it the wave has all
	// members that are left.
	// +optional
	Clusters *ClusterSelection `json:"clusters,omitempty"`

	// maxConcurrent is how many members of the wave change at the same time: a number from 1 to 5000, or a percentage
	// from 1% to 100% of the wave's members, rounded up. Without it all of them do.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=4
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 1 && self <= 5000 : string(self).matches('^(100|[1-9][0-9]?)%$')",message="maxConcurrent is a number from 1 to 5000, or a percentage from 1% to 100%"
	MaxConcurrent *intstr.IntOrString `json:"maxConcurrent,omitempty"`

	// soakSeconds is for how long all members of the wave have to stay Healthy before the next wave begins. The time
	// begins anew when one of them is not Healthy.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2592000
	SoakSeconds *int32 `json:"soakSeconds,omitempty"`

	// approval set to Manual makes the wave wait for an Approval with allow: Wave. Defaults to Automatic.
	// +optional
	// +kubebuilder:validation:Enum=Automatic;Manual
	Approval WaveApproval `json:"approval,omitempty"`

	// maxFailures is how many members of the wave may fail before onFailure takes effect. Defaults to 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=5000
	MaxFailures *int32 `json:"maxFailures,omitempty"`
}

// WaveApproval is what a wave needs to begin.
type WaveApproval string

// The kinds of approval.
const (
	WaveAutomatic WaveApproval = "Automatic"
	WaveManual    WaveApproval = "Manual"
)

// FailurePolicy is what the manager does when a rollout fails.
type FailurePolicy string

// The failure policies.
const (
	FailurePause    FailurePolicy = "Pause"
	FailureRollback FailurePolicy = "Rollback"
)

// RolloutStatus is the state of the present or the last rollout of a wrapper. The manager writes a new state before it acts on it.
type RolloutStatus struct {
	// id identifies this rollout. Approvals have to name it, so an Approval of an earlier rollout does not count.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	ID string `json:"id,omitempty"`

	// revision is the revision that goes out. It names a ControllerRevision.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Revision string `json:"revision,omitempty"`

	// state is where the rollout stands. Progressing: it goes forward, or waits. Complete: every wave has passed.
	// Paused: too many members failed, and no further member changes. RollingBack: members go back to lastGoodRevision.
	// RolledBack: all members that the manager can reach are back.
	// +optional
	// +kubebuilder:validation:Enum=Progressing;Complete;Paused;RollingBack;RolledBack
	State RolloutState `json:"state,omitempty"`

	// wave is the name of the current wave. It is absent when all waves have passed, and while members go back.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Wave string `json:"wave,omitempty"`

	// begun is Yes from when the first member of the current wave may change. A wave that has begun goes on when its
	// Approval is deleted or the rollout is suspended.
	// +optional
	// +kubebuilder:validation:Enum=Yes
	Begun YesMark `json:"begun,omitempty"`

	// since is when the current wave became the current one, or when the last wave passed.
	// +optional
	Since metav1.Time `json:"since,omitempty,omitzero"`

	// soakUntil is when the current wave has soaked, unless one of its members becomes not Healthy. It is absent in any
	// other state.
	// +optional
	SoakUntil metav1.Time `json:"soakUntil,omitempty,omitzero"`

	// waitingFor is the reason why nothing more happens now; absent when every member is updated and Healthy.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	WaitingFor string `json:"waitingFor,omitempty"`

	// waitingForCluster is one member that waitingFor is about.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	WaitingForCluster string `json:"waitingForCluster,omitempty"`

	// lastGoodRevision is the newest revision that was Healthy on every member that the manager could reach.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	LastGoodRevision string `json:"lastGoodRevision,omitempty"`

	// rolledBackFrom is the revision that failed, while members go back and after that.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	RolledBackFrom string `json:"rolledBackFrom,omitempty"`

	// failure is the first cause of a rollout that failed. It stays until another revision, or a retry.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:MinProperties=1
	Failure RolloutFailure `json:"failure,omitzero"`

	// wavesDigest identifies the names and the selections of the waves. The manager looks for the current wave again
	// when it changes.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	WavesDigest string `json:"wavesDigest,omitempty"`

	// retried is when the manager last tried the revision again. Deadlines count from it.
	// +optional
	Retried metav1.Time `json:"retried,omitempty,omitzero"`

	// retrySeen is when the newest Approval with allow: Retry was created that no longer counts.
	// +optional
	RetrySeen metav1.Time `json:"retrySeen,omitempty,omitzero"`
}

// Exists reports whether the wrapper has, or had, a rollout.
func (s *RolloutStatus) Exists() bool { return s.ID != "" }

// HasFailed reports whether the rollout has failed.
func (s *RolloutStatus) HasFailed() bool { return s.Failure.Revision != "" }

// RolloutFailure is why a rollout failed.
type RolloutFailure struct {
	// revision is the revision that failed.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Revision string `json:"revision,omitempty"`

	// wave is the wave in which too many members failed.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Wave string `json:"wave,omitempty"`

	// cluster is the first member that failed, by name.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Cluster string `json:"cluster,omitempty"`

	// reason is the reason of that member's line when it failed.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason,omitempty"`

	// count is how many members of the wave failed.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Count int32 `json:"count,omitempty"`

	// time is when the manager noticed the failure.
	// +optional
	Time metav1.Time `json:"time,omitempty,omitzero"`

	// noGoodRevision is Yes when onFailure is Rollback and no earlier revision was ever Healthy everywhere.
	// +optional
	// +kubebuilder:validation:Enum=Yes
	NoGoodRevision YesMark `json:"noGoodRevision,omitempty"`
}

// RolloutState is where a rollout stands.
type RolloutState string

// The states of a rollout.
const (
	RolloutProgressing RolloutState = "Progressing"
	RolloutComplete    RolloutState = "Complete"
	RolloutPaused      RolloutState = "Paused"
	RolloutRollingBack RolloutState = "RollingBack"
	RolloutRolledBack  RolloutState = "RolledBack"
)

// YesMark is Yes, or absent.
type YesMark string

// Yes is the one value of a YesMark.
const Yes YesMark = "Yes"
