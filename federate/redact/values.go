// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"regexp"
	"slices"
	"strings"
)

// A value has what readValue needs to know about the value of a key.
type value struct {
	kind       kind
	key        int  // where the key begins; noKey if a name elsewhere in the text tells that this is a secret
	colon      bool // the separator is a colon, so a sentence may follow: "token: failed to verify"
	sentence   bool // the separator is a verb or a space
	password   bool // the key is a password
	quotedOnly bool // without quotes there is no value
}

// noKey is the key of a value that has none before it: IDENTIFIED BY '…', or name: DB_PASSWORD, value: ….
const noKey = -1

// scheme is the first word of a value of Authorization (RFC 9110). It stays.
var scheme = regexp.MustCompile(`^(?i:bearer|basic|digest|negotiate|ntlm|token|apikey|splunk|hawk|aws4-hmac-sha256|sharedkey|sharedaccesssignature)[ \t]+`)

// readValue reads the value that begins at i, after white space. It returns where the value ends, and the value if that is a
// secret.
func readValue(text string, i int, v value) (secret span, end int) {
	for i < len(text) && (text[i] == ' ' || text[i] == '\t') {
		i++
	}
	if i == len(text) || text[i] == '\n' || text[i] == '\r' {
		return span{}, i
	}
	if open, level, ok := quote(text, i); ok {
		return quotedValue(text, open, level, v)
	}
	if v.quotedOnly {
		return span{}, i
	}
	switch text[i] {
	case '[', '{':
		if !strings.HasPrefix(text[i:], Mark) && !hasAt(text, i, "[]") && !hasAt(text, i, "{}") {
			return bracketedValue(text, i)
		}
	case 'm': // a map as Go prints it
		switch {
		case strings.HasPrefix(text[i:], "map[]"):
			return span{}, i + len("map[]")
		case strings.HasPrefix(text[i:], "map["):
			return bracketedValue(text, i+len("map"))
		}
	case '|', '>':
		if secret, end, ok := blockValue(text, i, v); ok {
			return secret, end
		}
	}
	if v.kind == header {
		return headerValue(text, i, v)
	}
	return wordValue(text, i, v)
}

// quote returns the position of the quote at i and the number of backslashes before it. A short word may be before the quote:
// b'…', Some("…").
func quote(text string, i int) (open, level int, ok bool) {
	if word := alnum.end(text, i); word > i && word-i <= 16 && word < len(text) {
		switch {
		case text[word] == '(':
			i = word + 1
		case word-i == 1 && (text[word] == '\'' || text[word] == '"'):
			i = word
		}
	}
	open = i
	for open < len(text) && text[open] == '\\' {
		open++
	}
	if open == len(text) || strings.IndexByte("\"'`", text[open]) < 0 {
		return i, 0, false
	}
	return open, open - i, true
}

// quotedValue is readValue for the text in the quotes that begin at open, after level backslashes.
func quotedValue(text string, open, level int, v value) (secret span, end int) {
	from := open + 1
	to, after := closingQuote(text, open, level)
	// In 'it's' the value goes on.
	if after > to && after < len(text) && alnum[text[after]] {
		to = tokenEnd(text, after)
		after = to
	}
	if v.kind == header {
		from += len(scheme.FindString(text[from:min(to, from+64)]))
	}
	if content := text[from:to]; !plain(content) && !objectName(text, v, content) {
		secret = span{from, to}
	}
	return secret, max(after, from)
}

// closingQuote returns where the text in quotes ends, and where the quote after it ends. Both are the end of the line if there is no
// such quote: the value's end was cut off, or the quote is an apostrophe.
func closingQuote(text string, open, level int) (to, after int) {
	slashes := 0
	for i := open + 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			slashes++
			continue
		case '\n':
			return i, i
		case text[open]:
			// A quote inside of the value has more backslashes before it than the one at the value's start.
			if level == 0 && slashes%2 == 0 {
				return i, i + 1
			}
			if level > 0 && slashes <= level {
				return i - slashes, i + 1
			}
		}
		slashes = 0
	}
	return len(text), len(text)
}

// bracketedValue is readValue for a list or an object. If the closing bracket is not on the same line, the value ends with the line.
func bracketedValue(text string, i int) (secret span, end int) {
	depth := 0
	for j := i; j < len(text) && text[j] != '\n'; j++ {
		switch text[j] {
		case '[', '{':
			depth++
		case ']', '}':
			if depth--; depth == 0 {
				return span{i, j + 1}, j + 1
			}
		}
	}
	end = lineEnd(text, i)
	return span{i, end}, end
}

// blockHeader is what may follow the "|" or ">" of a YAML block in its line.
var blockHeader = chars("+", "-", "09")

// blockValue is readValue for the lines of a YAML block ("key: |"), which are indented more than the line of its key. The result ok
// is false if no block begins at i.
func blockValue(text string, i int, v value) (secret span, end int, ok bool) {
	j := blockHeader.end(text, i+1)
	if !v.colon || j == len(text) || text[j] != '\n' {
		return span{}, 0, false
	}
	line := strings.LastIndexByte(text[max(0, v.key-256):v.key], '\n') + 1 + max(0, v.key-256)
	indent := spaces.end(text, line) - line
	from, to := j+1, j
	for to < len(text) {
		start := to + 1
		first := min(spaces.end(text, min(start, len(text))), len(text))
		if first < len(text) && text[first] != '\n' && first-start <= indent || first == len(text) {
			break
		}
		to = lineEnd(text, first)
	}
	if to <= from {
		return span{}, j, true
	}
	if body := from + indent; strings.TrimSpace(text[from:to]) != Mark {
		secret = span{min(body, to), to}
	}
	return secret, to, true
}

// headerValue is readValue for the rest of the line, or of the quoted text that has the key inside: -H "Cookie: a=b; c=d".
func headerValue(text string, i int, v value) (secret span, end int) {
	if word := strings.ToLower(strings.TrimRight(text[i:tokenText.end(text, i)], ".")); v.colon && slices.Contains(prose, word) {
		return span{}, i
	}
	single := false
	if m := scheme.FindString(text[i:min(len(text), i+64)]); m != "" {
		i += len(m)
		name := strings.ToLower(strings.TrimSpace(m))
		single = name == "bearer" || name == "basic" || name == "token"
	}
	if single {
		return wordValue(text, i, value{key: noKey})
	}
	end = lineEnd(text, i)
	if n := strings.Index(text[i:end], `\n`); n >= 0 {
		end = i + n
	}
	if n := strings.Index(text[i:end], `\r`); n >= 0 {
		end = i + n
	}
	if v.key > 0 {
		if open := text[v.key-1]; open == '"' || open == '\'' {
			if n := strings.IndexByte(text[i:end], open); n >= 0 {
				end = i + n
			}
		}
	}
	if !plain(strings.TrimRight(text[i:end], " \t\r,;.)]}\"'\\")) {
		secret = span{i, len(strings.TrimRight(text[:end], " \t\r"))}
	}
	return secret, max(i, end)
}

// encodedValue is readValue for a value in a query or a form, in which " and & end it.
func encodedValue(text string, i int) (secret span, end int) {
	if hasAt(text, i, "%22") {
		i += 3
	}
	to := i
	for to < len(text) && strings.IndexByte(" \t\r\n\"'&", text[to]) < 0 && !hasAt(text, to, "%22") && !hasAt(text, to, "%26") {
		to++
	}
	return span{i, to}, to
}
