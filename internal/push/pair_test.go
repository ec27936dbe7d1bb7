// SPDX-License-Identifier: Apache-2.0

package push

import "github.com/fairlead-dev/fairlead/internal/deliveries"

// pair is all that the host knows about one wrapper on one member.
type pair struct {
	deliveries.Record
	Result
	// Holds is true if the Delivery records exactly the desired objects as applied.
	Holds bool
}

// Pair returns all that the host knows about one wrapper on one member.
func (p *Pusher) Pair(key Key, memberName string) pair {
	record, result := p.deliveries.Record(key, memberName), p.Result(key, memberName)
	return pair{Record: record, Result: result, Holds: result.IsHeld(record.Summary)}
}
