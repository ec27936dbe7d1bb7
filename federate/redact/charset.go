// SPDX-License-Identifier: Apache-2.0

package redact

import "strings"

// A charset has true for each byte that belongs to it.
type charset [256]bool

func chars(ranges ...string) *charset {
	var set charset
	for _, r := range ranges {
		for c := int(r[0]); c <= int(r[len(r)-1]); c++ {
			set[c] = true
		}
	}
	return &set
}

var (
	alnum     = chars("AZ", "az", "09")
	upperNum  = chars("AZ", "09")
	word      = chars("AZ", "az", "09", "_")
	base64URL = chars("AZ", "az", "09", "_", "-")
	base64Any = chars("AZ", "az", "09", "_", "-", "+", "/", "=")
	tokenText = chars("AZ", "az", "09", "_", "-", "+", "/", "=", ".", "~")
	dash      = chars("-")
	decimal   = chars("09")
	spaces    = chars(" ")
	keyText   = chars("AZ", "az", "09", "_", "-", ".")
)

// end returns the end of the bytes that begin at i in text and belong to the set.
func (set *charset) end(text string, i int) int {
	for i < len(text) && set[text[i]] {
		i++
	}
	return i
}

// start returns the start of the bytes that end before i in text and belong to the set. It goes back at most limit bytes.
func (set *charset) start(text string, i, limit int) int {
	for stop := max(0, i-limit); i > stop && set[text[i-1]]; {
		i--
	}
	return i
}

// boundary reports whether a word can begin at i.
func boundary(text string, i int) bool {
	if i == 0 || !alnum[text[i-1]] {
		return true
	}
	// In escaped text a newline or a tab ends with a letter.
	return i > 1 && text[i-2] == '\\' && escapedSpace(text[i-1])
}

// escapedSpace reports whether c after a backslash is white space.
func escapedSpace(c byte) bool { return c == 'n' || c == 'r' || c == 't' }

// hasAt reports whether the parameter word is in text at the index i, ignoring the case of ASCII letters.
func hasAt(text string, i int, word string) bool {
	return i >= 0 && i+len(word) <= len(text) && strings.EqualFold(text[i:i+len(word)], word)
}

// lineEnd returns the end of the line that has the byte i.
func lineEnd(text string, i int) int {
	if n := strings.IndexByte(text[i:], '\n'); n >= 0 {
		return i + n
	}
	return len(text)
}
