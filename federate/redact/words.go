// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"regexp"
	"slices"
	"strings"
)

// wordValue is readValue for one word.
func wordValue(text string, i int, v value) (secret span, end int) {
	end = tokenEnd(text, i)
	// A passphrase in YAML may have spaces.
	if v.kind == password && v.colon && beginsLine(text, v.key) {
		if line := lineEnd(text, i); !isProse(text, i, end, v) {
			end = i + len(strings.TrimRight(text[i:line], " \t\r"))
		}
	}
	switch content := text[i:end]; {
	case strings.HasPrefix(content, Mark) && strings.Trim(content[len(Mark):], ",;.)]}\"'\\") == "":
	case plain(content), strings.IndexFunc(content, isText) < 0 && len(content) < 4:
	case (v.colon || v.sentence) && isProse(text, i, end, v):
	case v.sentence && !v.password && strings.Trim(content, "abcdefghijklmnopqrstuvwxyz") == "":
	case objectName(text, v, content):
	default:
		secret = span{i, end}
	}
	return secret, max(end, i)
}

// indentation is what may be before the key of a YAML list's item in its line.
var indentation = chars(" ", "-")

// beginsLine reports whether only white space, or the dash of a YAML list, is before i in its line.
func beginsLine(text string, i int) bool {
	i = indentation.start(text, i, 64)
	return i == 0 || text[i-1] == '\n'
}

func isText(r rune) bool { return r >= 0x80 || alnum[byte(r)] }

// httpStatus is the status of an HTTP response and the start of its meaning.
var httpStatus = regexp.MustCompile(`^[1-5][0-9][0-9] [A-Z][a-z]`)

// isProse reports whether text[i:end] is a word of a sentence instead of a value.
func isProse(text string, i, end int, v value) bool {
	content := strings.ToLower(strings.TrimRight(text[i:end], ".,:;)"))
	words := prose
	if v.kind == password {
		words = passwordProse
	}
	if slices.Contains(words, content) {
		return true
	}
	// "fetching the token: 401 Unauthorized"
	if v.kind != password && httpStatus.MatchString(text[i:min(len(text), i+8)]) {
		return true
	}
	// "token: token is expired", "session: session not found"
	if keyKind(content) != noSecret && text[end:min(len(text), end+1)] == " " {
		next := alnum.end(text, end+1)
		return slices.Contains(prose, strings.ToLower(text[end+1:next]))
	}
	return false
}

// nextKey matches a separator with the next key of a list. A value without quotes ends before it.
var nextKey = regexp.MustCompile(`^(?:[,;&]|&amp;)[ \t]*[\\"']*[A-Za-z_][A-Za-z0-9_.-]{0,40}[\\"']*[ \t]*[=:]`)

// tokenEnd returns the end of the word at i. A password may have any characters. So a word ends only at white space, at a separator
// before the next key, or at quotes and brackets that are its last characters.
func tokenEnd(text string, i int) int {
	end := i
	for end < len(text) && !endsWord(text, end, i) {
		end++
	}
	// The bracket of a reference, ${PASSWORD}, belongs to it.
	if i+1 < end && text[i] == '$' && (text[i+1] == '{' || text[i+1] == '(') {
		if n := strings.IndexAny(text[i:end], "})"); n > 0 && strings.Trim(text[i+n+1:end], closers) == "" {
			return i + n + 1
		}
	}
	trimmed := len(strings.TrimRight(text[i:end], closers))
	if trimmed == 0 {
		return end
	}
	end = i + trimmed
	// The "]" of "[redacted]" belongs to the mark, so it is not cut off like other closing brackets.
	if strings.HasSuffix(text[i:end], Mark[:len(Mark)-1]) && end < len(text) && text[end] == ']' {
		end++
	}
	return end
}

// closers may be after a word without belonging to it.
const closers = ",;)]}>\"'`\\"

// endsWord reports whether the word that begins at from ends before i.
func endsWord(text string, i, from int) bool {
	switch text[i] {
	case ' ', '\t', '\n', '\r':
		return true
	case '<':
		return hasAt(text, i, "</")
	case ',', ';', '&':
		return i > from && nextKey.MatchString(text[i:min(len(text), i+64)])
	case '"', '\'', '`':
		return i > from && (i+1 == len(text) || strings.IndexByte(",;:}]) \t\r\n", text[i+1]) >= 0)
	}
	return false
}
