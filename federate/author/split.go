// SPDX-License-Identifier: Apache-2.0

package author

import (
	"bytes"
)

// document is the text of one document, and the line of its source on which it begins.
type document struct {
	line int
	text []byte
}

// split cuts a stream at its document markers: lines of `---`, alone or followed by a comment or content. A marker
// stays in the document that it begins, because the YAML parser needs it. Such a line is never part of a scalar: YAML
// forbids it there, and a JSON string has no line breaks.
func split(data []byte) []document {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	var documents []document
	begin, beginLine := 0, 1
	line := 1
	for offset := 0; offset < len(data); line++ {
		end := len(data)
		if i := bytes.IndexByte(data[offset:], '\n'); i >= 0 {
			end = offset + i + 1
		}
		if offset > begin && isMarker(data[offset:end]) {
			documents = append(documents, document{line: beginLine, text: data[begin:offset]})
			begin, beginLine = offset, line
		}
		offset = end
	}
	return append(documents, document{line: beginLine, text: data[begin:]})
}

func isMarker(line []byte) bool {
	rest, found := bytes.CutPrefix(line, []byte("---"))
	return found && (len(rest) == 0 || bytes.IndexByte([]byte(" \t\r\n"), rest[0]) >= 0)
}

// isBlank reports whether a document holds only comments and its marker, so that it does not count as a document.
func isBlank(text []byte) bool {
	for line := range bytes.Lines(text) {
		if isMarker(line) {
			line = line[len("---"):]
		}
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] != '#' {
			return false
		}
	}
	return true
}

// firstLine is the line of the source on which the document's content begins.
func (d document) firstLine() int {
	line := d.line
	for text := range bytes.Lines(d.text) {
		if !isBlank(text) {
			return line
		}
		line++
	}
	return d.line
}
