// SPDX-License-Identifier: Apache-2.0

package push

import "github.com/fairlead-dev/fairlead/internal/deliveries"

// pair is everything that the pusher knows of one wrapper on one member.
type pair struct {
	deliveries.Record
	Result
	// Holds reports whether the member holds exactly the desired state.
	Holds bool
}

// Pair returns what the pusher knows of a pair.
func (p *Pusher) Pair(key Key, memberName string) pair {
	record, result := p.deliveries.Record(key, memberName), p.Result(key, memberName)
	return pair{Record: record, Result: result, Holds: result.IsHeld(record.Summary)}
}
