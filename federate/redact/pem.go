// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"regexp"
	"strings"
)

// marker is the first or the last line of a PEM block (RFC 7468), of an SSH2 key (RFC 4716) or of a PGP block (RFC 9580).
var marker = regexp.MustCompile(`^-{0,16} ?(BEGIN|END) [A-Z0-9 ]{1,40}-{4,5}`)

// cutMarker is the end of a first line whose start was cut off.
var cutMarker = regexp.MustCompile(`^[A-Z0-9 ]{0,40}(?:KEY|CERTIFICATE|REQUEST|BLOCK)-{4,5}`)

// A boundaryLine is the place of a marker.
type boundaryLine struct {
	span
	end bool // the last line of a block
}

func (s *scan) markers() []boundaryLine {
	const longest = 72
	var found []boundaryLine
	at := 0
	if m := cutMarker.FindStringIndex(s.text[:min(len(s.text), longest)]); m != nil {
		found = append(found, boundaryLine{span: span{0, m[1]}})
		at = m[1]
	}
	for first := at == 0; ; first = false {
		from := at
		// The start of the text may have cut off dashes.
		if !first {
			n := strings.Index(s.text[at:], "----")
			if n < 0 {
				return found
			}
			from = at + n
		}
		m := marker.FindStringSubmatchIndex(s.text[from:min(len(s.text), from+longest)])
		if m == nil {
			at = s.run(from, dash)
			continue
		}
		at = from + m[1]
		found = append(found, boundaryLine{span: span{from, at}, end: s.text[from+m[2]:from+m[3]] == "END"})
	}
}

// pemHeader is a header inside a PEM block, for example "Proc-Type: 4,ENCRYPTED" (RFC 1421).
var pemHeader = regexp.MustCompile(`^(?:Proc-Type|DEK-Info|Comment|Version|Subject|Hash|Charset|X-[A-Za-z-]+): ?[^\n\\]{0,200}`)

// pem finds the bodies of PEM blocks. The lines BEGIN and END stay. A block may have lost one of its ends, and its newlines may be
// written as \n.
func (s *scan) pem() {
	if !strings.Contains(s.text, "----") {
		return
	}
	marks := s.markers()
	body := 0 // the start of the text that can belong to the next block
	for i, m := range marks {
		if m.end {
			// The block's BEGIN may be cut off.
			s.add(s.bodyBefore(body, m.from), m.from)
			body = m.to
			continue
		}
		next := len(s.text)
		if i+1 < len(marks) {
			next = marks[i+1].from
			if marks[i+1].end {
				s.addTrimmed(m.to, next)
				body = next
				continue
			}
		}
		body = s.bodyAfter(m.to, next)
		s.addTrimmed(m.to, body)
	}
}

// addTrimmed adds text[from:to] if it is more than white space around a mark.
func (s *scan) addTrimmed(from, to int) {
	if strings.Trim(strings.ReplaceAll(strings.ReplaceAll(s.text[from:to], `\n`, ""), `\r`, ""), " \t\r\n\\") != Mark {
		if strings.TrimSpace(s.text[from:to]) != "" {
			s.add(from, to)
		}
	}
}

// newlines returns the end of the white space at i, with escaped newlines.
func (s *scan) newlines(i, to int) int {
	for i < to {
		switch s.text[i] {
		case '\n', '\r', ' ', '\t':
			i++
		case '\\':
			j := i
			for j < to && s.text[j] == '\\' {
				j++
			}
			if j == to || !escapedSpace(s.text[j]) {
				return i
			}
			i = j + 1
		default:
			return i
		}
	}
	return i
}

// newlinesBack returns the start of the white space that ends before i, with escaped newlines.
func (s *scan) newlinesBack(i, from int) int {
	for i > from {
		switch c := s.text[i-1]; {
		case c == '\n' || c == '\r' || c == ' ' || c == '\t':
			i--
		case i-2 >= from && s.text[i-2] == '\\' && escapedSpace(c):
			for i -= 2; i > from && s.text[i-1] == '\\'; {
				i--
			}
		default:
			return i
		}
	}
	return i
}

// escapedSpace reports whether c after a backslash is white space.
func escapedSpace(c byte) bool { return c == 'n' || c == 'r' || c == 't' }

// bodyAfter returns the end of the PEM body that begins at from and ends before to, without a line END.
func (s *scan) bodyAfter(from, to int) int {
	end, long := from, false
	for {
		i := s.newlines(end, to)
		if header := pemHeader.FindStringIndex(s.text[i:to]); header != nil {
			end = i + header[1]
			continue
		}
		next := min(s.run(i, base64Any), to)
		// The last line of a block is short, and so is a line that the end of the text cuts.
		if next == i || next-i < 16 && next < len(s.text) && !long {
			return end
		}
		long = next-i >= 40
		end = next
	}
}

// bodyBefore returns the start of the PEM body that ends before to and begins not before from.
func (s *scan) bodyBefore(from, to int) int {
	start := to
	for start > from {
		i := s.newlinesBack(start, from)
		previous := max(from, s.runBack(i, base64Any, to-from))
		// In "\nMII" the run begins after the n of the newline.
		if previous > from && s.text[previous-1] == '\\' && previous < i && escapedSpace(s.text[previous]) {
			previous++
		}
		if previous == i || i-previous < 16 && start < to && previous > 0 {
			return start
		}
		start = previous
	}
	return start
}
