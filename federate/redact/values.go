// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"regexp"
	"slices"
	"strings"
)

// A value tells how to read the value of a key.
type value struct {
	kind       kind
	key        int  // where the key begins
	colon      bool // the separator is a colon, so a sentence may follow: "token: failed to verify"
	sentence   bool // the separator is a verb or a space
	password   bool // the key is a password
	quotedOnly bool // without quotes there is no value
}

// scheme is the first word of a value of Authorization (RFC 9110). It stays.
var scheme = regexp.MustCompile(`^(?i:bearer|basic|digest|negotiate|ntlm|token|apikey|splunk|hawk|aws4-hmac-sha256|sharedkey|sharedaccesssignature)[ \t]+`)

// value notes the value that begins at i, after white space, and returns where it ends.
func (s *scan) value(i int, v value) int {
	for i < len(s.text) && (s.text[i] == ' ' || s.text[i] == '\t') {
		i++
	}
	if i == len(s.text) || s.text[i] == '\n' || s.text[i] == '\r' {
		return i
	}
	if open, level, ok := s.quote(i); ok {
		return s.quoted(open, level, v)
	}
	if v.quotedOnly {
		return i
	}
	switch s.text[i] {
	case '[', '{':
		if !strings.HasPrefix(s.text[i:], Mark) && !s.hasAt(i, "[]") && !s.hasAt(i, "{}") {
			return s.brackets(i)
		}
	case '|', '>':
		if end, ok := s.block(i, v); ok {
			return end
		}
	}
	if v.kind == header {
		return s.headerValue(i, v)
	}
	return s.token(i, v)
}

// quote returns the position of the quote at i and the number of backslashes before it. A short word may be before the quote:
// b'…', Some("…").
func (s *scan) quote(i int) (open, level int, ok bool) {
	if word := s.run(i, alnum); word > i && word-i <= 16 && word < len(s.text) {
		switch {
		case s.text[word] == '(':
			i = word + 1
		case word-i == 1 && (s.text[word] == '\'' || s.text[word] == '"'):
			i = word
		}
	}
	open = i
	for open < len(s.text) && s.text[open] == '\\' {
		open++
	}
	if open == len(s.text) || strings.IndexByte("\"'`", s.text[open]) < 0 {
		return i, 0, false
	}
	return open, open - i, true
}

// quoted notes the text in the quotes that begin at open, after level backslashes.
func (s *scan) quoted(open, level int, v value) int {
	from := open + 1
	to, after := s.closingQuote(open, level)
	// In 'it's' the value goes on.
	if after > to && after < len(s.text) && alnum[s.text[after]] {
		to = s.tokenEnd(after)
		after = to
	}
	if v.kind == header {
		from += len(scheme.FindString(s.text[from:min(to, from+64)]))
	}
	content := s.text[from:to]
	if !plain(content) && !objectName(s, v, content) {
		s.add(from, to)
	}
	return max(after, from)
}

// closingQuote returns where the text in quotes ends, and where the quote after it ends. Both are the end of the line if there is no
// such quote: the value's end was cut off, or the quote is an apostrophe.
func (s *scan) closingQuote(open, level int) (to, after int) {
	slashes := 0
	for i := open + 1; i < len(s.text); i++ {
		switch s.text[i] {
		case '\\':
			slashes++
			continue
		case '\n':
			return i, i
		case s.text[open]:
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
	return len(s.text), len(s.text)
}

// brackets notes a list or an object, to the end of the line if it does not end before.
func (s *scan) brackets(i int) int {
	depth := 0
	for j := i; j < len(s.text) && s.text[j] != '\n'; j++ {
		switch s.text[j] {
		case '[', '{':
			depth++
		case ']', '}':
			if depth--; depth == 0 {
				s.add(i, j+1)
				return j + 1
			}
		}
	}
	end := s.lineEnd(i)
	s.add(i, end)
	return end
}

func (s *scan) lineEnd(i int) int {
	if n := strings.IndexByte(s.text[i:], '\n'); n >= 0 {
		return i + n
	}
	return len(s.text)
}

// block notes the lines of a YAML block ("key: |"), which are indented more than the line of its key.
func (s *scan) block(i int, v value) (int, bool) {
	j := s.run(i+1, chars("+", "-", "09"))
	if !v.colon || j == len(s.text) || s.text[j] != '\n' {
		return 0, false
	}
	line := strings.LastIndexByte(s.text[max(0, v.key-256):v.key], '\n') + 1 + max(0, v.key-256)
	indent := s.run(line, spaces) - line
	from, to := j+1, j
	for to < len(s.text) {
		start := to + 1
		text := min(s.run(min(start, len(s.text)), spaces), len(s.text))
		if text < len(s.text) && s.text[text] != '\n' && text-start <= indent || text == len(s.text) {
			break
		}
		to = s.lineEnd(text)
	}
	if to <= from {
		return j, true
	}
	if body := from + indent; strings.TrimSpace(s.text[from:to]) != Mark {
		s.add(min(body, to), to)
	}
	return to, true
}

// headerValue notes the rest of the line, or of the quoted text that has the key inside: -H "Cookie: a=b; c=d".
func (s *scan) headerValue(i int, v value) int {
	if word := strings.ToLower(strings.TrimRight(s.text[i:s.run(i, tokenText)], ".")); v.colon && slices.Contains(prose, word) {
		return i
	}
	single := false
	if m := scheme.FindString(s.text[i:min(len(s.text), i+64)]); m != "" {
		i += len(m)
		name := strings.ToLower(strings.TrimSpace(m))
		single = name == "bearer" || name == "basic" || name == "token"
	}
	if single {
		return s.token(i, value{})
	}
	end := s.lineEnd(i)
	if n := strings.Index(s.text[i:end], `\n`); n >= 0 {
		end = i + n
	}
	if n := strings.Index(s.text[i:end], `\r`); n >= 0 {
		end = i + n
	}
	if v.key > 0 {
		if open := s.text[v.key-1]; open == '"' || open == '\'' {
			if n := strings.IndexByte(s.text[i:end], open); n >= 0 {
				end = i + n
			}
		}
	}
	if !plain(strings.TrimRight(s.text[i:end], " \t\r,;.)]}\"'\\")) {
		s.add(i, len(strings.TrimRight(s.text[:end], " \t\r")))
	}
	return max(i, end)
}

// token notes one word.
func (s *scan) token(i int, v value) int {
	end := s.tokenEnd(i)
	// A passphrase in YAML has spaces.
	if v.kind == password && v.colon && s.beginsLine(v.key) {
		if line := s.lineEnd(i); !s.isProse(i, end, v) {
			end = i + len(strings.TrimRight(s.text[i:line], " \t\r"))
		}
	}
	text := s.text[i:end]
	switch {
	case strings.HasPrefix(text, Mark) && strings.Trim(text[len(Mark):], ",;.)]}\"'\\") == "":
	case plain(text), strings.IndexFunc(text, isText) < 0 && len(text) < 4:
	case (v.colon || v.sentence) && s.isProse(i, end, v):
	case v.sentence && !v.password && strings.Trim(text, "abcdefghijklmnopqrstuvwxyz") == "":
	case objectName(s, v, text):
	default:
		s.add(i, end)
	}
	return max(end, i)
}

// beginsLine reports whether only white space, or the dash of a YAML list, is before i in its line.
func (s *scan) beginsLine(i int) bool {
	i = s.runBack(i, chars(" ", "-"), 64)
	return i == 0 || s.text[i-1] == '\n'
}

func isText(r rune) bool { return r >= 0x80 || alnum[byte(r)] }

// httpStatus is the status of an HTTP response and the start of its meaning.
var httpStatus = regexp.MustCompile(`^[1-5][0-9][0-9] [A-Z][a-z]`)

// isProse reports whether text[i:end] is a word of a sentence instead of a value.
func (s *scan) isProse(i, end int, v value) bool {
	text := strings.ToLower(strings.TrimRight(s.text[i:end], ".,:;)"))
	words := prose
	if v.kind == password {
		words = passwordProse
	}
	if slices.Contains(words, text) {
		return true
	}
	// "fetching the token: 401 Unauthorized"
	if v.kind != password && httpStatus.MatchString(s.text[i:min(len(s.text), i+8)]) {
		return true
	}
	// "token: token is expired", "session: session not found"
	if keyKind(text) != noSecret && s.text[end:min(len(s.text), end+1)] == " " {
		next := s.run(end+1, alnum)
		return slices.Contains(prose, strings.ToLower(s.text[end+1:next]))
	}
	return false
}

// encoded notes a value in a query or a form, in which " and & end it.
func (s *scan) encoded(i int) int {
	if s.hasAt(i, "%22") {
		i += 3
	}
	to := i
	for to < len(s.text) && strings.IndexByte(" \t\r\n\"'&", s.text[to]) < 0 && !s.hasAt(to, "%22") && !s.hasAt(to, "%26") {
		to++
	}
	s.add(i, to)
	return to
}

// nextKey is the next pair of a list, after a value without quotes. Where it stands, the value ends.
var nextKey = regexp.MustCompile(`^(?:[,;&]|&amp;)[ \t]*[\\"']*[A-Za-z_][A-Za-z0-9_.-]{0,40}[\\"']*[ \t]*[=:]`)

// tokenEnd returns the end of the word at i. Passwords have all characters, so only white space ends a word, a quote or a
// bracket at the end of the word, and a separator before the next key.
func (s *scan) tokenEnd(i int) int {
	end := i
	for end < len(s.text) && !s.endsWord(end, i) {
		end++
	}
	// The bracket of a reference, ${PASSWORD}, belongs to it.
	if i+1 < end && s.text[i] == '$' && (s.text[i+1] == '{' || s.text[i+1] == '(') {
		if n := strings.IndexAny(s.text[i:end], "})"); n > 0 && strings.Trim(s.text[i+n+1:end], closers) == "" {
			return i + n + 1
		}
	}
	trimmed := len(strings.TrimRight(s.text[i:end], closers))
	if trimmed == 0 {
		return end
	}
	end = i + trimmed
	// The mark's own bracket is no closing bracket.
	if strings.HasSuffix(s.text[i:end], Mark[:len(Mark)-1]) && end < len(s.text) && s.text[end] == ']' {
		end++
	}
	return end
}

// closers may be after a word without belonging to it.
const closers = ",;)]}>\"'`\\"

// endsWord reports whether the word that begins at from ends before i.
func (s *scan) endsWord(i, from int) bool {
	switch s.text[i] {
	case ' ', '\t', '\n', '\r':
		return true
	case '<':
		return s.hasAt(i, "</")
	case ',', ';', '&':
		return i > from && nextKey.MatchString(s.text[i:min(len(s.text), i+64)])
	case '"', '\'', '`':
		return i > from && (i+1 == len(s.text) || strings.IndexByte(",;:}]) \t\r\n", s.text[i+1]) >= 0)
	}
	return false
}

// reference is a value that names a secret instead of holding it: an environment variable, or a file.
var reference = regexp.MustCompile(`^(?:\$[A-Z_]{3,}|\$\{[A-Z0-9_]+\}|\$\([A-Z0-9_]+\)|/(?:etc|var|run|usr|opt|home|tmp|mnt|root|secrets|vault|proc|app|data)(?:/[a-z0-9_.-]+)+/?:?)$`)

// fileName is a key of a Secret object: "references non-existent secret key: tls.crt".
var fileName = regexp.MustCompile(`^[a-z][a-z0-9-]*\.(?:crt|key|pem|json|ya?ml|conf|cfg|txt|toml|env|p12|jks|properties)$`)

// plain reports whether the value of a secret's key is no secret: nothing, a mask, or a reference.
func plain(text string) bool {
	text = strings.TrimSpace(text)
	if text == "" || text == Mark || strings.Trim(text, "*•.…-") == "" || len(text) > 3 && strings.Trim(text, "xX") == "" || reference.MatchString(text) {
		return true
	}
	return fileName.MatchString(text) || slices.Contains(nothing, strings.ToLower(strings.TrimRight(text, ".")))
}

// name is a Kubernetes object as programs write it into their logs: namespace/name (klog.KObj).
var name = regexp.MustCompile(`^[a-z][a-z0-9.-]*/[a-z0-9][a-z0-9.-]*[a-z0-9]$`)

// count is a number of tokens or sessions.
var count = regexp.MustCompile(`^\d{1,9}$`)

// objectName reports whether a value names a Secret object, counts tokens or passed tests, or is a working directory.
func objectName(s *scan, v value, text string) bool {
	key := strings.ToLower(s.text[v.key:s.run(v.key, keyText)])
	switch {
	case key == "secret" || strings.HasSuffix(key, "secretref"):
		return name.MatchString(text)
	case strings.HasSuffix(key, "tokens"), strings.HasSuffix(key, "sessions"), strings.HasSuffix(key, "secrets"), strings.HasSuffix(key, "credentials"):
		return count.MatchString(text)
	case key == "pass":
		return v.colon && (strings.HasPrefix(s.text[v.key:], "PASS:") || count.MatchString(text))
	case key == "pwd", key == "oldpwd":
		return strings.HasPrefix(text, "/")
	}
	return false
}
