// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Mark stands in the output in place of each secret.
const Mark = "[redacted]"

// maxPasses is how often Text goes over a text before it gives up. Ordinary texts need two passes: one that replaces, and
// one that finds nothing more.
const maxPasses = 8

// Text returns text with every part that looks like a secret replaced by "[redacted]". The package comment lists what it
// finds, and what it finds of a secret that a byte limit has cut.
//
// The result is valid UTF-8: each run of invalid bytes becomes U+FFFD. It has at most 3*len(text)+10 bytes. A text without
// secrets and invalid bytes is returned as it is, without a copy of it. Text(Text(text)) equals Text(text). The time is linear in
// len(text).
func Text(text string) string {
	text = strings.ToValidUTF8(text, string(utf8.RuneError))
	for range maxPasses {
		found := secrets(text)
		if len(found) == 0 {
			return text
		}
		text = replace(text, found)
	}
	// The text changes with each pass, so it may still hold a secret.
	return Mark
}

// A span is the part of a text from byte from up to but not including byte to.
type span struct{ from, to int }

// A scan looks for secrets in one text.
type scan struct {
	text  string
	found []span
}

// secrets returns the secrets in text, sorted and without overlaps.
func secrets(text string) []span {
	s := &scan{text: text}
	s.formats()
	s.pem()
	s.urls()
	s.schemes()
	s.keyed()
	s.bootstrapTokens()
	named := merge(s.found)
	// What has a name or a format is found exactly, so the search for random text leaves it alone. Otherwise it would take
	// the prefix or the name too.
	s.found = nil
	from := 0
	for _, f := range named {
		s.random(from, f.from)
		from = f.to
	}
	s.random(from, len(text))
	if len(s.found) == 0 {
		return named
	}
	return merge(append(s.found, named...))
}

// add notes the secret text[from:to]. It leaves out a mark that is there already.
func (s *scan) add(from, to int) {
	if from < to && s.text[from:to] != Mark {
		s.found = append(s.found, span{from, to})
	}
}

func merge(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int { return a.from - b.from })
	merged := spans[:0]
	for _, next := range spans {
		if last := len(merged) - 1; last >= 0 && next.from < merged[last].to {
			merged[last].to = max(merged[last].to, next.to)
			continue
		}
		merged = append(merged, next)
	}
	return merged
}

func replace(text string, found []span) string {
	var b strings.Builder
	b.Grow(len(text) + len(found)*len(Mark))
	from := 0
	for _, f := range found {
		b.WriteString(text[from:f.from])
		b.WriteString(Mark)
		from = f.to
	}
	b.WriteString(text[from:])
	return b.String()
}

// formats finds the secrets that begin with a fixed text.
func (s *scan) formats() {
	for _, f := range formats {
		for at := 0; ; {
			i := strings.Index(s.text[at:], f.prefix)
			if i < 0 {
				break
			}
			from := at + i + len(f.prefix)
			to := s.run(from, f.body)
			if s.boundary(at+i) && to-from >= f.min && (f.only == nil || f.only(s.text[from:to])) {
				s.add(from, to)
			}
			at = to
		}
	}
	// A base64url text that begins with {" is the header or the payload of a JWT (RFC 7519), or JSON such as a dockerconfigjson.
	for at := 0; ; {
		i := strings.Index(s.text[at:], "eyJ")
		if i < 0 {
			return
		}
		from := at + i
		to := s.run(from, tokenText)
		if to-from >= 10 && s.boundary(from) {
			// The header's start may have been cut off.
			s.add(s.runBack(from, tokenText, 256), to)
		}
		at = to
	}
}

// boundary reports whether a word can begin at i.
func (s *scan) boundary(i int) bool {
	if i == 0 || !alnum[s.text[i-1]] {
		return true
	}
	// In escaped text a newline or a tab ends with a letter.
	return i > 1 && s.text[i-2] == '\\' && strings.IndexByte("ntr", s.text[i-1]) >= 0
}

// run returns the end of the run of set that begins at i.
func (s *scan) run(i int, set *charset) int {
	for i < len(s.text) && set[s.text[i]] {
		i++
	}
	return i
}

// runBack returns the start of the run of set that ends before i. It goes back at most limit bytes.
func (s *scan) runBack(i int, set *charset, limit int) int {
	for stop := max(0, i-limit); i > stop && set[s.text[i-1]]; {
		i--
	}
	return i
}

// hasAt reports whether word is at i, ignoring the case of ASCII letters.
func (s *scan) hasAt(i int, word string) bool {
	return i >= 0 && i+len(word) <= len(s.text) && strings.EqualFold(s.text[i:i+len(word)], word)
}

// bootstrapTokens finds Kubernetes bootstrap tokens: six and sixteen lower-case letters and digits with a dot between them
// (kubernetes.io, "Authenticating with Bootstrap Tokens").
func (s *scan) bootstrapTokens() {
	const id, secret = 6, 16
	inName := func(i int) bool { return i >= 0 && i < len(s.text) && (keyText[s.text[i]] || s.text[i] == '/') }
	for i := id; i < len(s.text); i++ {
		if s.text[i] != '.' || inName(i-id-1) {
			continue
		}
		end := s.run(i+1, alnum)
		first, second := s.text[i-id:i], s.text[i+1:end]
		// A cut may have taken the end of the secret.
		whole := len(second) == secret || end == len(s.text) && len(second) >= 8 && len(second) < secret
		// A dot may end a sentence after the token.
		alone := !inName(end) || s.text[end] == '.' && !inName(end+1)
		if whole && alone && isBootstrapToken(first, second) {
			s.add(i-id, end)
		}
	}
}

func isBootstrapToken(id, secret string) bool {
	const digits = "0123456789"
	both := id + secret
	if strings.Trim(both, "abcdefghijklmnopqrstuvwxyz"+digits) != "" || !hasDigit(both) || strings.Trim(both, digits) == "" {
		return false
	}
	// The name of an event is the object's name and the time in hexadecimal digits ("worker.17a1b2c3d4e5f6a7").
	event := !hasDigit(id) && secret[0] == '1' && strings.Trim(secret, digits+"abcdef") == ""
	return !event
}
