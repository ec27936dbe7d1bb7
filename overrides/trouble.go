// SPDX-License-Identifier: Apache-2.0

package overrides

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// maxShown is how many bytes of a value an error shows.
const maxShown = 120

// endsBefore is the trouble with a path whose token at i is not there.
func (d *document) endsBefore(path pointer, i int) error {
	return &trouble{problem: fmt.Sprintf("the path is not there, nor is %s; add that first", path[:i+1])}
}

// notContainer is the trouble with a path whose token at i has neither an object nor a list to look in.
func (d *document) notContainer(path pointer, i int, found any) error {
	return &trouble{
		problem: fmt.Sprintf("%s is %s, neither an object nor a list", path[:i], d.show(found)),
		found:   d.found(found),
	}
}

// itemAt is the index of an item that is there.
func (d *document) itemAt(path pointer, at int, list []any) (int, error) {
	i, ok := listIndex(path[at])
	switch {
	case !ok && path[at] == "-":
		return 0, &trouble{problem: fmt.Sprintf(`"-" is the place after the last item of %s: only add, move and copy can go there`, path[:at])}
	case !ok:
		return 0, &trouble{problem: fmt.Sprintf("%s is a list: %q is no index of it (0, 1, 2 …)", path[:at], path[at])}
	case i >= len(list):
		return 0, &trouble{problem: fmt.Sprintf("the path is not there: the list %s has %s", path[:at], items(list))}
	}
	return i, nil
}

// insertAt is the index before which an item is to go.
func (d *document) insertAt(path pointer, list []any) (int, error) {
	last := len(path) - 1
	if path[last] == "-" {
		return len(list), nil
	}
	i, ok := listIndex(path[last])
	switch {
	case !ok:
		return 0, &trouble{problem: fmt.Sprintf(`%s is a list: %q is no index of it (0, 1, 2 … or "-" for its end)`, path[:last], path[last])}
	case i > len(list):
		return 0, &trouble{problem: fmt.Sprintf(`the list %s has %s; "-" appends`, path[:last], items(list))}
	}
	return i, nil
}

func items(list []any) string {
	if len(list) == 1 {
		return "1 item"
	}
	return fmt.Sprintf("%d items", len(list))
}

// show writes a value into a sentence.
func (d *document) show(value any) string {
	if d.secret {
		return "a value that is withheld (it is a Secret's)"
	}
	return shorten(value)
}

// found is a value for Error.Found.
func (d *document) found(value any) string {
	if d.secret {
		return ""
	}
	return shorten(value)
}

func shorten(value any) string {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return "a value that cannot be shown: " + err.Error()
	}
	text := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	if len(text) <= maxShown {
		return string(text)
	}
	cut := maxShown
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return string(text[:cut]) + "…"
}
