// SPDX-License-Identifier: Apache-2.0

package report

import "github.com/fairlead-dev/fairlead/federate/health"

// The host cuts its texts to these numbers of bytes, between characters. The API server refuses longer texts, and with
// them the event or the whole status.
const (
	// maxNote is the limit of an event's note, as the API server sets it.
	maxNote = 1024
	// maxCondition is the limit of a condition's message. The schema allows 32 KiB, but a wrapper has six conditions,
	// and several may repeat the message.
	maxCondition = 4096
	// maxMessage, maxReason and maxName are the limits of a line's message, of its reason, and of the names in it.
	maxMessage = 256
	maxReason  = 64
	maxName    = 253
)

// Note returns a text cut for the note of an event.
func Note(text string) string { return health.Clean(text, maxNote) }

// Condition returns a text cut for the message of a condition.
func Condition(text string) string { return health.Clean(text, maxCondition) }
