// SPDX-License-Identifier: Apache-2.0

package redact

import "strings"

// minRandom is the shortest random-looking text that counts as a secret by itself, in bytes. AWS secret keys have 40.
const minRandom = 40

// random reports whether text looks random, even if it is short.
func random(text string) bool { return looksRandom(text, true) }

// looksRandom reports whether text looks like the output of a random generator in base64 or a similar alphabet. It accepts
// shorter texts at the edges, where a part of the secret may be cut off.
//
// The measure is the share of letters and digits that belong to words and numbers. A word is three or more small letters with a
// vowel, and the capital letter before them. A number is three or more digits. The share is about 0.1 in random text over all
// letters and digits, and about 0.5 or more in names and paths.
func looksRandom(text string, edge bool) bool {
	text = strings.TrimRight(text, "=")
	if len(text) < minRandom && !edge {
		return false
	}
	m := measure(text)
	// Names have a separator every few letters. In random base64, only one character in 32 is a "-", "_", "/" or "+".
	if m.letters < 8 || m.separators*6 > len(text) {
		return false
	}
	share := float64(m.inWords) / float64(m.letters)
	changes := float64(m.changes) / float64(m.letters)
	return m.isRandom(share, changes) && (m.classes == lowerClass|upperClass|digitClass || !isHex(text))
}

// isRandom applies the limits, which depend on the classes of characters in the text: small letters, capital letters and digits. The
// fewer classes a text has, the longer it has to be.
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

// A measurement has the counts by which random text differs from words.
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
