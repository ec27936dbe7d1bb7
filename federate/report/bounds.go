// SPDX-License-Identifier: Apache-2.0

package report

import "github.com/fairlead-dev/fairlead/federate/health"

// What goes out of the host is cut here, to so many bytes and between characters: a text that is longer than the API
// server takes would cost the event, or the whole status.
const (
	// maxNote is how long the note of an event may be, by the API server's own word.
	maxNote = 1024
	// maxCondition is how long the message of a condition is. The schema takes 32 KiB; a wrapper has six conditions, and
	// several of them may say the same.
	maxCondition = 4096
	// maxMessage, maxReason and maxName are how long a line's message, its reason, and what it names may be.
	maxMessage = 256
	maxReason  = 64
	maxName    = 253
)

// Note is a text as the note of an event.
func Note(text string) string { return health.Clean(text, maxNote) }

// Condition is a text as the message of a condition, of a wrapper or a MemberCluster.
func Condition(text string) string { return health.Clean(text, maxCondition) }
