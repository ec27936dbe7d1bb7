// SPDX-License-Identifier: Apache-2.0

package federated

import "github.com/fairlead-dev/fairlead/internal/push"

// Pusher is what the loop needs of the pusher: it takes what is wanted of each member, and tells how the pushes went. What
// members have on record the loop reads in the deliveries.Store. So the pushes may be another manager's.
type Pusher interface {
	// Want says what the host wants of a wrapper on a member from now on. It does not wait for the push.
	Want(memberName string, want *push.Want)
	// Drop takes back what was wanted of a wrapper on a member; nothing is done on the member.
	Drop(key push.Key, memberName string)
	// Wanted are the members of which something is wanted for a wrapper, sorted.
	Wanted(key push.Key) []string
	// Result tells how the pushes of a wrapper to a member went.
	Result(key push.Key, memberName string) push.Result
	// TakeKept is what pushes of a wrapper have left on members since the last call, by member.
	TakeKept(key push.Key) map[string][]push.Kept
}

var _ Pusher = &push.Pusher{}
