// SPDX-License-Identifier: Apache-2.0

package health

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxMessage is the longest message of an object, in bytes.
const MaxMessage = 1024

// maxReason is the longest reason of an object, in bytes.
const maxReason = 64

// ellipsis is the end of a text that was cut.
const ellipsis = "…"

// Clean makes text from a member safe for a status and a terminal. The result is valid UTF-8 on one line, with single
// spaces. It has no control or formatting characters (escape sequences, bidirectional overrides). It is at most limit
// bytes long, cut between characters. Clean is idempotent.
func Clean(text string, limit int) string {
	// Clean does not read the text far past the limit: a member may send a lot.
	if far := 8 * limit; len(text) > far {
		text = text[:far]
	}
	var b strings.Builder
	space := false
	for _, r := range strings.ToValidUTF8(text, "\uFFFD") {
		switch {
		case unicode.IsSpace(r):
			space = b.Len() > 0
			continue
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), unicode.Is(unicode.Co, r):
			continue
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		b.WriteRune(r)
	}
	return cut(b.String(), limit)
}

func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	if limit < len(ellipsis) {
		return ""
	}
	end := limit - len(ellipsis)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return strings.TrimRight(text[:end], " ") + ellipsis
}
