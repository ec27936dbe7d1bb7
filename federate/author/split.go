// SPDX-License-Identifier: Apache-2.0

package author

import (
	"bytes"
)

// document is the text of one document, and the number of the line on which it begins in its source, from 1.
type document struct {
	line int
	text []byte
}

// split divides a stream into documents at lines that begin with `---`. Such a line stays at the beginning of its
// document, because the YAML parser needs it. The line is never part of a scalar: YAML does not allow that, and a JSON
// string has no line breaks.
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

// isBlank reports whether a document has only comments and the line `---`. The document numbers in messages skip such a
// document.
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

// firstLine returns the number of the line on which the content of the document begins in its source.
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
