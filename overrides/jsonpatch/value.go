// SPDX-License-Identifier: Apache-2.0

package jsonpatch

import (
	"math"
)

// Equal compares two JSON values by the rules of RFC 6902, section 4.6: numbers by their value, and objects without regard to the order of their
// keys.
func Equal(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for key, value := range a {
			other, there := b[key]
			if !there || !Equal(value, other) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !Equal(a[i], b[i]) {
				return false
			}
		}
		return true
	case int64:
		if f, ok := b.(float64); ok {
			return equalNumbers(a, f)
		}
		return a == b
	case float64:
		if i, ok := b.(int64); ok {
			return equalNumbers(i, a)
		}
		return a == b
	}
	return a == b
}

// equalNumbers compares an integer and a float exactly. If it converted the integer to a float, many different integers beyond 2^53 would be
// equal.
func equalNumbers(i int64, f float64) bool {
	return f >= math.MinInt64 && f < math.MaxInt64 && f == math.Trunc(f) && int64(f) == i
}

// Size returns the approximate size of a value in memory, in bytes.
func Size(value any) int {
	switch v := value.(type) {
	case map[string]any:
		n := 64
		for key := range v {
			n += len(key) + 32 + Size(v[key])
		}
		return n
	case []any:
		n := 24
		for i := range v {
			n += 16 + Size(v[i])
		}
		return n
	case string:
		return len(v) + 16
	}
	return 8
}
