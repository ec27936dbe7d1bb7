// SPDX-License-Identifier: Apache-2.0

package overrides

import (
	"errors"
	"strings"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/overrides/selection"
)

// source is a parsed ValueSource: where an operation's value comes from.
type source struct {
	label    string // the key of the member's label; "" means the member's name
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
		return nil, errors.New("whenMissing has to be Skip or Fail")
	}
	if from.FieldPath == "metadata.name" {
		return s, nil
	}
	label, opens := strings.CutPrefix(from.FieldPath, "metadata.labels['")
	label, closes := strings.CutSuffix(label, "']")
	if !opens || !closes || label == "" || strings.ContainsAny(label, "']") {
		return nil, errors.New("fieldPath has to be metadata.name or metadata.labels['KEY']")
	}
	s.label = label
	return s, nil
}

// value returns the member's name or the value of its label. If the member lacks the label, it returns the fallback. The result there is false
// if the member lacks the label and there is no fallback.
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
