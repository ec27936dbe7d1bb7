// SPDX-License-Identifier: Apache-2.0

package health

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxMessage is the greatest length of an object's message, in bytes.
const MaxMessage = 1024

// maxVersion is the longest name of a version, in bytes.
const maxVersion = 253

// maxReason is the longest reason of an object, in bytes.
const maxReason = 64

// ellipsis ends a text that Clean has cut.
const ellipsis = "…"

// Clean makes text from a member safe for a status and a terminal. The result is valid UTF-8 on one line, with single
// spaces. It has no control or formatting characters, such as escape sequences or bidirectional overrides. It has at
// most limit bytes, and is cut between characters. Cleaning a cleaned text again changes nothing.
func Clean(text string, limit int) string {
	// A member may send a very long text, so Clean reads only a few times limit bytes of it.
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
		case IsHidden(r):
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

// IsHidden reports whether a character is for control or formatting, for private use, or a separator of lines or paragraphs. A terminal
// may act on it, and a reader does not see it. Line ends and tabs are among these characters.
func IsHidden(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp)
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
