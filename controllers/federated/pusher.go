// SPDX-License-Identifier: Apache-2.0

package federated

import "github.com/fairlead-dev/fairlead/internal/push"

// Pusher is the part of push.Pusher that the loop needs. It takes the desired state of each member, and returns the
// results of the pushes. The loop reads the members' Deliveries from the deliveries.Store and not from the Pusher, so
// that another process can make the pushes.
type Pusher interface {
	// SetDesired sets the desired state of a wrapper on a member. It does not wait for the push.
	SetDesired(memberName string, desired *push.Desired)
	// RemoveDesired removes the desired state of a wrapper on a member, so the Pusher stops its pushes there. The
	// member keeps the objects.
	RemoveDesired(key push.Key, memberName string)
	// DesiredMembers are the members with a desired state for a wrapper, sorted.
	DesiredMembers(key push.Key) []string
	// DesiredState is the desired state of a wrapper on a member; nil if the member has no desired state.
	DesiredState(key push.Key, memberName string) *push.Desired
	// Result is the result of the pushes of a wrapper to a member.
	Result(key push.Key, memberName string) push.Result
	// Announced tells the Pusher that a status of the wrapper shows the announcement of a reinstall on a member, with this message.
	// The Pusher begins no reinstall that no status has shown.
	Announced(key push.Key, memberName, message string)
	// TakeKept returns the objects that pushes of a wrapper left on members since the last call, by member.
	TakeKept(key push.Key) map[string][]push.Kept
}

var _ Pusher = &push.Pusher{}
