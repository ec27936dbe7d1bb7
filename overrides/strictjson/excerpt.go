// SPDX-License-Identifier: Apache-2.0

package strictjson

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// maxShown bounds the part of a value that an error quotes, in bytes.
const maxShown = 120

// Excerpt returns a value as JSON for a message, cut to maxShown bytes.
func Excerpt(value any) string {
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
