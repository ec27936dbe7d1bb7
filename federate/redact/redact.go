// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Mark stands in the output in place of each secret.
const Mark = "[redacted]"

// maxPasses is the number of passes over a text after which Text gives up. Ordinary texts need two passes: one that
// replaces, and one that finds nothing more.
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

// A span is the part of a text from byte from up to but not including byte to. The zero span is no part of a text.
type span struct{ from, to int }

// add appends a secret in text to found. It leaves out an empty span, and a mark that is there already.
func add(found []span, text string, secret span) []span {
	if secret.from < secret.to && text[secret.from:secret.to] != Mark {
		return append(found, secret)
	}
	return found
}

// merge sorts spans, and joins those that overlap. It overwrites spans.
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

// secrets returns the secrets in text, sorted and without overlaps.
func secrets(text string) []span {
	var found []span
	found = appendFormats(found, text)
	found = appendJWTs(found, text)
	found = appendPEM(found, text)
	found = appendURLPasswords(found, text)
	found = appendSchemeTokens(found, text)
	found = appendKeyedValues(found, text)
	found = appendBootstrapTokens(found, text)
	named := merge(found)
	// What has a name or a format is found exactly, so the search for random text leaves it alone. Otherwise it would take
	// the prefix or the name too.
	found = nil
	from := 0
	for _, f := range named {
		found = appendRandom(found, text, span{from, f.from})
		from = f.to
	}
	found = appendRandom(found, text, span{from, len(text)})
	if len(found) == 0 {
		return named
	}
	return merge(append(found, named...))
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
