// SPDX-License-Identifier: Apache-2.0

package report

import "github.com/fairlead-dev/fairlead/federate/health"

// Each text that the manager writes to a status or an event is cut to one of these limits, in bytes, and never inside a
// character. The API server would refuse a longer text, and with it the whole event or status.
const (
	// maxNote is the limit of an event's note. The API server sets this limit.
	maxNote = 1024
	// maxCondition is the limit of a condition's message. The schema allows 32 KiB, but a status has up to five
	// conditions, and several of them may repeat the same message.
	maxCondition = 4096
	// MaxMessage is the limit of the message in the line of a member.
	MaxMessage = 256
	// maxReason is the limit of a line's reason.
	maxReason = 64
	// maxName is the limit of a name in a line: a revision or a version.
	maxName = 253
)

// Note cuts a text for the note of an event.
func Note(text string) string { return health.Clean(text, maxNote) }

// Condition cuts a text for the message of a condition.
func Condition(text string) string { return health.Clean(text, maxCondition) }
