// SPDX-License-Identifier: Apache-2.0

package overrides

import (
	"errors"
	"math"
	"strings"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/overrides/selection"
)

// source is a ValueSource, read.
type source struct {
	label    string // "" is the member's name
	fallback *string
	skip     bool
}

func newSource(from *v1alpha1.ValueSource) (*source, error) {
	s := &source{fallback: from.Default}
	switch from.WhenMissing {
	case v1alpha1.MissingSkip:
		s.skip = true
	case v1alpha1.MissingFail, "":
	default:
		return nil, errors.New("whenMissing is Skip or Fail")
	}
	if from.FieldPath == "metadata.name" {
		return s, nil
	}
	label, opens := strings.CutPrefix(from.FieldPath, "metadata.labels['")
	label, closes := strings.CutSuffix(label, "']")
	if !opens || !closes || label == "" || strings.ContainsAny(label, "']") {
		return nil, errors.New("fieldPath is metadata.name or metadata.labels['KEY']")
	}
	s.label = label
	return s, nil
}

// value is what the member has there, or the default.
func (s *source) value(m selection.Member) (value string, there bool) {
	if s.label == "" {
		return m.Name, true
	}
	if value, there = m.Labels[s.label]; there {
		return value, true
	}
	if s.fallback != nil {
		return *s.fallback, true
	}
	return "", false
}

// equal compares JSON values as RFC 6902, section 4.6, does: numbers by value, objects whatever the
// order of their keys.
func equal(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for key, value := range a {
			other, there := b[key]
			if !there || !equal(value, other) {
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
			if !equal(a[i], b[i]) {
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

// equalNumbers compares without losing digits: past 2^53 many integers share one float.
func equalNumbers(i int64, f float64) bool {
	return f >= math.MinInt64 && f < math.MaxInt64 && f == math.Trunc(f) && int64(f) == i
}

// size is about how many bytes a value takes in memory.
func size(value any) int {
	switch v := value.(type) {
	case map[string]any:
		n := 64
		for key := range v {
			n += len(key) + 32 + size(v[key])
		}
		return n
	case []any:
		n := 24
		for i := range v {
			n += 16 + size(v[i])
		}
		return n
	case string:
		return len(v) + 16
	}
	return 8
}
