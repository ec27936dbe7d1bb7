// SPDX-License-Identifier: Apache-2.0

package strictjson

// Depth returns the nesting depth of JSON text: 1 for {}. It only counts brackets. So a caller can refuse text that is too deep before a recursive decoder
// reads the text.
func Depth(data []byte) int {
	depth, deepest := 0, 0
	quoted, escaped := false, false
	for _, c := range data {
		switch {
		case escaped:
			escaped = false
		case quoted:
			escaped = c == '\\'
			quoted = c != '"'
		case c == '"':
			quoted = true
		case c == '{' || c == '[':
			depth++
			deepest = max(deepest, depth)
		case c == '}' || c == ']':
			depth--
		}
	}
	return deepest
}

// DepthOf returns the nesting depth of a decoded value: 0 for a scalar, 1 for {}.
func DepthOf(value any) int {
	deepest := -1
	switch v := value.(type) {
	case map[string]any:
		deepest = 0
		for key := range v {
			deepest = max(deepest, DepthOf(v[key]))
		}
	case []any:
		deepest = 0
		for i := range v {
			deepest = max(deepest, DepthOf(v[i]))
		}
	}
	return deepest + 1
}
