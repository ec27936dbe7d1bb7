// SPDX-License-Identifier: Apache-2.0

package main

import "context"

// benchWork is one task of a federation, which the bench measures.
type benchWork struct {
	name, what string
	// afterDelivery is true if the work needs the objects of W1.
	afterDelivery bool
	// besidePeer is true if a peer can do the work as well.
	besidePeer bool
	do         func(context.Context, *bed) (*reading, error)
}

const (
	deliverWork = "W1"
	idleWork    = "idle"
)

// works are all works that need clusters, in the order in which they run.
var works = []benchWork{
	{name: deliverWork, what: "deliver the objects to 3 members", besidePeer: true, do: deliver},
	{name: "W2", what: "do nothing for 120 s", afterDelivery: true, do: idle},
	{name: "W3", what: "change one field of every object", afterDelivery: true, besidePeer: true, do: change},
	{name: "W4", what: "bring back 100 objects that were deleted on a member", afterDelivery: true, besidePeer: true, do: bringBack},
	{name: "W5", what: "start the manager again", afterDelivery: true, besidePeer: true, do: startAgain},
	{name: "W6", what: "deliver a kind that one member does not serve", do: serveOthers},
	{name: "far", what: "deliver 300 objects to members of which one is 100 ms away", do: deliverFar},
	{name: "W7", what: "deliver 300 objects to 3 members, and then to 6", do: addMembers},
	{name: troubleWork, what: "tell of 50 Deployments that crash on 3 members, among 200", do: trouble},
	{name: restWork, what: "hold 1,000 wrappers at rest, and 1,000 more", do: holdAtRest},
	{name: "floor", what: "send the requests of W1, and nothing else", do: floor},
}
