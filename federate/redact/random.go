// SPDX-License-Identifier: Apache-2.0

package redact

import "strings"

const (
	// minHex is the shortest hexadecimal number that counts as a secret, in digits. Many vendors' API keys have 32.
	minHex = 32
	// minHexAtEdge is the same for the first and last word of a text, where a part of the number may be cut off.
	minHexAtEdge = 20
)

// appendRandom finds random-looking words in a part of text that has no secret with a name or a format.
func appendRandom(found []span, text string, part span) []span {
	for i := part.from; i < part.to; {
		if !base64Any[text[i]] {
			i++
			continue
		}
		end := i
		for end < part.to && base64Any[text[end]] {
			end++
		}
		found = appendRandomWord(found, text, i, end)
		i = end
	}
	return found
}

// appendRandomWord finds the word text[from:to] if it looks random, or the parts of it that do.
func appendRandomWord(found []span, text string, from, to int) []span {
	if to-from < 8 {
		return found
	}
	edge := atEdge(text, from, to)
	if looksRandom(text[from:to], edge) {
		return add(found, text, withLines(text, from, to))
	}
	// A path, a query or a name may have a secret as one of its parts. "/" and "-" are also letters of base64, so the
	// parts come after the whole.
	for _, separators := range []string{"/=+", "/=+_-"} {
		for i := from; i < to; {
			n := strings.IndexAny(text[i:to], separators)
			if n < 0 {
				n = to - i
			}
			if part := text[i : i+n]; isHex(part) {
				if isSecretHex(text, i, i+n, edge) {
					found = add(found, text, span{i, i + n})
				}
			} else if looksRandom(part, edge) {
				found = add(found, text, withLines(text, i, i+n))
			}
			i += n + 1
		}
	}
	return found
}

// isSecretHex reports whether the hexadecimal number text[from:to] is long, and nothing around it tells that it is an identifier.
func isSecretHex(text string, from, to int, edge bool) bool {
	n := to - from
	if n < minHexAtEdge || n < minHex && !edge || !mixedHex(text[from:to]) {
		return false
	}
	return !identifierBefore(text, from) && !strings.Contains(text[to:min(len(text), to+64)], ".elb.")
}

// identifierBefore reports whether a word before i tells that an identifier follows: "sha256:", "commit ", "traceID=".
func identifierBefore(text string, i int) bool {
	if i > 0 && text[i-1] == '@' { // a version of an action or a module
		return true
	}
	for range 2 {
		stop := max(0, i-4)
		for i > stop && !word[text[i-1]] && text[i-1] != '\n' {
			i--
		}
		start := base64URL.start(text, i, 40)
		name := strings.ToLower(text[start:i])
		for _, known := range digestContext {
			if name == known || strings.HasSuffix(name, "-"+known) || strings.HasSuffix(name, "_"+known) {
				return true
			}
		}
		// One word may stand between: "commit is …", "container id …".
		if name != "id" && name != "is" && name != "of" && name != "to" && name != "with" {
			return false
		}
		i = start
	}
	return false
}

// withLines returns text[from:to], and the lines of base64 around it if it fills its own line.
func withLines(text string, from, to int) span {
	start := strings.LastIndexByte(text[max(0, from-128):from], '\n') + 1 + max(0, from-128)
	if strings.Trim(text[start:from], " \t\"") != "" {
		return span{from, to}
	}
	// The line above may be the rest of a line that was cut, the line below the short last line of a block.
	if above := start - 1; above > 0 {
		first := base64Any.start(text, above, 128)
		if first < above && (first == 0 || text[first-1] == '\n') {
			from = first
		}
	}
	if to < len(text) && text[to] == '\n' {
		below := to + 1
		for below < len(text) && text[below] == ' ' {
			below++
		}
		last := base64Any.end(text, below)
		if last > below && (last == len(text) || text[last] == '\n') {
			to = last
		}
	}
	return span{from, to}
}

// atEdge reports whether text[from:to] is at an end of the text, which a byte limit may have cut: in the first or the last word. A
// long word may also be the second one, because the first may be the rest of its key.
func atEdge(text string, from, to int) bool {
	const far, long = 512, 20
	space := func(text string) bool { return strings.ContainsAny(text, " \t\r\n") }
	if from < far {
		before := text[:from]
		if to-from >= long {
			before = strings.TrimLeft(before, " \t")
			if n := strings.IndexAny(before, " \t\r\n"); n >= 0 {
				before = strings.TrimLeft(before[n:], " \t\r\n")
			}
		}
		if !space(before) {
			return true
		}
	}
	return len(text)-to < far && !space(text[to:])
}
