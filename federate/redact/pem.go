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

// markers returns the first and last lines of blocks in text.
func markers(text string) []boundaryLine {
	const longest = 72
	var found []boundaryLine
	at := 0
	if m := cutMarker.FindStringIndex(text[:min(len(text), longest)]); m != nil {
		found = append(found, boundaryLine{span: span{0, m[1]}})
		at = m[1]
	}
	for first := at == 0; ; first = false {
		from := at
		// If the start of the text was cut off, the dashes of the first marker may be missing.
		if !first {
			n := strings.Index(text[at:], "----")
			if n < 0 {
				return found
			}
			from = at + n
		}
		m := marker.FindStringSubmatchIndex(text[from:min(len(text), from+longest)])
		if m == nil {
			at = dash.end(text, from)
			continue
		}
		at = from + m[1]
		found = append(found, boundaryLine{span: span{from, at}, end: text[from+m[2]:from+m[3]] == "END"})
	}
}

// pemHeader is a header inside a PEM block, for example "Proc-Type: 4,ENCRYPTED" (RFC 1421).
var pemHeader = regexp.MustCompile(`^(?:Proc-Type|DEK-Info|Comment|Version|Subject|Hash|Charset|X-[A-Za-z-]+): ?[^\n\\]{0,200}`)

// appendPEM finds the bodies of PEM blocks. The lines BEGIN and END stay. A block may have lost one of its ends, and its newlines
// may be written as \n.
func appendPEM(found []span, text string) []span {
	if !strings.Contains(text, "----") {
		return found
	}
	marks := markers(text)
	body := 0 // the start of the text that can belong to the next block
	for i, m := range marks {
		if m.end {
			// The block's BEGIN may be cut off.
			found = add(found, text, span{bodyBefore(text, body, m.from), m.from})
			body = m.to
			continue
		}
		next := len(text)
		if i+1 < len(marks) {
			next = marks[i+1].from
			if marks[i+1].end {
				found = addTrimmed(found, text, span{m.to, next})
				body = next
				continue
			}
		}
		body = bodyAfter(text, m.to, next)
		found = addTrimmed(found, text, span{m.to, body})
	}
	return found
}

// addTrimmed appends the secret, unless it has only white space, or only a mark and white space.
func addTrimmed(found []span, text string, secret span) []span {
	body := text[secret.from:secret.to]
	unescaped := strings.ReplaceAll(strings.ReplaceAll(body, `\n`, ""), `\r`, "")
	if strings.Trim(unescaped, " \t\r\n\\") == Mark || strings.TrimSpace(body) == "" {
		return found
	}
	return add(found, text, secret)
}

// newlines returns the end of the white space at i, with escaped newlines.
func newlines(text string, i, to int) int {
	for i < to {
		switch text[i] {
		case '\n', '\r', ' ', '\t':
			i++
		case '\\':
			j := i
			for j < to && text[j] == '\\' {
				j++
			}
			if j == to || !escapedSpace(text[j]) {
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
func newlinesBack(text string, i, from int) int {
	for i > from {
		switch c := text[i-1]; {
		case c == '\n' || c == '\r' || c == ' ' || c == '\t':
			i--
		case i-2 >= from && text[i-2] == '\\' && escapedSpace(c):
			for i -= 2; i > from && text[i-1] == '\\'; {
				i--
			}
		default:
			return i
		}
	}
	return i
}

// bodyAfter returns the end of a PEM body whose line END is missing. The body begins at from, and ends before to.
func bodyAfter(text string, from, to int) int {
	end, long := from, false
	for {
		i := newlines(text, end, to)
		if header := pemHeader.FindStringIndex(text[i:to]); header != nil {
			end = i + header[1]
			continue
		}
		next := min(base64Any.end(text, i), to)
		// The last line of a block is short, and so is a line that the end of the text cuts.
		if next == i || next-i < 16 && next < len(text) && !long {
			return end
		}
		long = next-i >= 40
		end = next
	}
}

// bodyBefore returns the start of the PEM body that ends before to and begins not before from.
func bodyBefore(text string, from, to int) int {
	start := to
	for start > from {
		i := newlinesBack(text, start, from)
		previous := max(from, base64Any.start(text, i, to-from))
		// In "\nMII" the run begins after the n of the newline.
		if previous > from && text[previous-1] == '\\' && previous < i && escapedSpace(text[previous]) {
			previous++
		}
		if previous == i || i-previous < 16 && start < to && previous > 0 {
			return start
		}
		start = previous
	}
	return start
}
