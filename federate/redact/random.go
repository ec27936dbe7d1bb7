// SPDX-License-Identifier: Apache-2.0

package redact

import "strings"

const (
	// minRandom is the shortest random-looking text that counts as a secret by itself, in bytes. AWS secret keys have 40.
	minRandom = 40
	// minHex is the shortest hexadecimal number that counts as a secret, in digits. Many vendors' API keys have 32.
	minHex = 32
	// minHexAtEdge is the same for the first and last word of a text, where a part of the number may be cut off.
	minHexAtEdge = 20
)

// random finds random-looking words in text[from:to], which has no secret with a name or a format.
func (s *scan) random(from, to int) {
	for i := from; i < to; {
		if !base64Any[s.text[i]] {
			i++
			continue
		}
		end := i
		for end < to && base64Any[s.text[end]] {
			end++
		}
		s.randomWord(i, end)
		i = end
	}
}

func (s *scan) randomWord(from, to int) {
	if to-from < 8 {
		return
	}
	edge := s.atEdge(from, to)
	text := s.text[from:to]
	if looksRandom(text, edge) {
		s.addRandom(from, to)
		return
	}
	// A path, a query or a name may have a secret as one of its parts. "/" and "-" are also letters of base64, so the
	// parts come after the whole.
	for _, separators := range []string{"/=+", "/=+_-"} {
		for i := from; i < to; {
			n := strings.IndexAny(s.text[i:to], separators)
			if n < 0 {
				n = to - i
			}
			if part := s.text[i : i+n]; isHex(part) {
				s.hex(i, i+n, edge)
			} else if looksRandom(part, edge) {
				s.addRandom(i, i+n)
			}
			i += n + 1
		}
	}
}

// hex adds the hexadecimal number text[from:to] if it is long, and nothing before it tells that it is an identifier.
func (s *scan) hex(from, to int, edge bool) {
	n := to - from
	if n < minHexAtEdge || n < minHex && !edge || !mixedHex(s.text[from:to]) {
		return
	}
	if s.identifierBefore(from) || strings.Contains(s.text[to:min(len(s.text), to+64)], ".elb.") {
		return
	}
	s.add(from, to)
}

// identifierBefore reports whether a word before i tells that an identifier follows: "sha256:", "commit ", "traceID=".
func (s *scan) identifierBefore(i int) bool {
	if i > 0 && s.text[i-1] == '@' { // a version of an action or a module
		return true
	}
	for range 2 {
		stop := max(0, i-4)
		for i > stop && !word[s.text[i-1]] && s.text[i-1] != '\n' {
			i--
		}
		start := s.runBack(i, base64URL, 40)
		name := strings.ToLower(s.text[start:i])
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

// addRandom adds text[from:to], and the lines of base64 around it if it fills its own line.
func (s *scan) addRandom(from, to int) {
	start := strings.LastIndexByte(s.text[max(0, from-128):from], '\n') + 1 + max(0, from-128)
	if strings.Trim(s.text[start:from], " \t\"") != "" {
		s.add(from, to)
		return
	}
	// The line above may be the rest of a line that was cut, the line below the short last line of a block.
	if above := start - 1; above > 0 {
		first := s.runBack(above, base64Any, 128)
		if first < above && (first == 0 || s.text[first-1] == '\n') {
			from = first
		}
	}
	if to < len(s.text) && s.text[to] == '\n' {
		below := to + 1
		for below < len(s.text) && s.text[below] == ' ' {
			below++
		}
		last := s.run(below, base64Any)
		if last > below && (last == len(s.text) || s.text[last] == '\n') {
			to = last
		}
	}
	s.add(from, to)
}

// atEdge reports whether text[from:to] is at an end of the text, which a byte limit may have cut: in the first or the last word. A
// long word may also be the second one, because the first may be the rest of its key.
func (s *scan) atEdge(from, to int) bool {
	const far, long = 512, 20
	space := func(text string) bool { return strings.ContainsAny(text, " \t\r\n") }
	if from < far {
		before := s.text[:from]
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
	return len(s.text)-to < far && !space(s.text[to:])
}

func random(text string) bool { return looksRandom(text, true) }

// looksRandom reports whether text looks like the output of a random generator in base64 or a similar alphabet. It accepts
// shorter texts at the edges, where a part of the secret may be cut off.
//
// The measure is the share of letters that belong to words: three or more small letters with a vowel, with a capital before them, or
// three or more digits. It is about 0.1 in random text over all letters and digits, and about 0.5 or more in names and paths.
func looksRandom(text string, edge bool) bool {
	text = strings.TrimRight(text, "=")
	if len(text) < minRandom && !edge {
		return false
	}
	m := measure(text)
	// Names have a separator every few letters. In base64, one letter of 32 is a "-", "_", "/" or "+".
	if m.letters < 8 || m.separators*6 > len(text) {
		return false
	}
	share := float64(m.inWords) / float64(m.letters)
	changes := float64(m.changes) / float64(m.letters)
	return m.isRandom(share, changes) && (m.classes == lowerClass|upperClass|digitClass || !isHex(text))
}

// isRandom applies the limits for each set of classes. The fewer classes, the longer the text has to be.
func (m measurement) isRandom(share, changes float64) bool {
	switch m.classes {
	case lowerClass | upperClass | digitClass:
		switch {
		case m.letters < 12:
			return share == 0 && m.changes >= 5
		case m.letters < 20:
			return share < 0.45 && changes > 0.12
		}
		return share < 0.55 && changes > 0.12
	case lowerClass | upperClass:
		// A short part of a secret may have no digit.
		return m.letters >= 16 && share < 0.35 && changes > 0.12
	case upperClass | digitClass: // base32
		return m.letters >= 12 && m.separators == 0 && share < 0.45 && changes > 0.12
	case lowerClass | digitClass:
		return m.letters >= 20 && m.separators == 0 && share < 0.3 && changes > 0.2
	}
	return false
}

const (
	lowerClass = 1 << iota
	upperClass
	digitClass
)

func classOf(c byte) int {
	switch {
	case 'a' <= c && c <= 'z':
		return lowerClass
	case 'A' <= c && c <= 'Z':
		return upperClass
	case '0' <= c && c <= '9':
		return digitClass
	}
	return 0
}

// A measurement counts what tells random text from words.
type measurement struct {
	letters    int // letters and digits
	separators int // other bytes
	inWords    int // letters and digits that belong to words or numbers
	changes    int // pairs of neighbors of different classes
	classes    int // the classes that occur
}

func measure(text string) measurement {
	var m measurement
	for i := 0; i < len(text); {
		class := classOf(text[i])
		if class == 0 {
			m.separators++
			i++
			continue
		}
		end := i + 1
		for end < len(text) && classOf(text[end]) == class {
			end++
		}
		if n := end - i; n >= 3 && (class == digitClass || class == lowerClass && isWord(text[i:end])) {
			m.inWords += n
			if i > 0 && class == lowerClass && classOf(text[i-1]) == upperClass {
				m.inWords++
			}
		}
		if end < len(text) && classOf(text[end]) != 0 {
			m.changes++
		}
		m.letters += end - i
		m.classes |= class
		i = end
	}
	return m
}

// isWord reports whether small letters can be a word or the rest of one. Words have vowels; half of the runs in random text have none.
func isWord(letters string) bool {
	return strings.ContainsAny(letters, "aeiou") || strings.HasSuffix(letters, "ttp") || strings.HasSuffix(letters, "ttps")
}

func isHex(text string) bool { return strings.Trim(text, "0123456789abcdefABCDEF") == "" }

// mixedHex reports whether a hexadecimal number has letters and digits, so that it is no decimal number, word or filler.
func mixedHex(text string) bool {
	return hasDigit(text) && strings.ContainsAny(text, "abcdefABCDEF") && strings.Trim(text, text[:1]) != ""
}
