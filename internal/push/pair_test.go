// SPDX-License-Identifier: Apache-2.0

package push

import "github.com/fairlead-dev/fairlead/internal/deliveries"

// pair is all that is known of one wrapper on one member.
type pair struct {
	deliveries.Record
	Result
	// Holds is whether the member holds just what is wanted.
	Holds bool
}

// Pair tells what is known of a pair.
func (p *Pusher) Pair(key Key, memberName string) pair {
	record, result := p.deliveries.Record(key, memberName), p.Result(key, memberName)
	return pair{Record: record, Result: result, Holds: result.Desired.IsHeldBy(record.Summary)}
}
