// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-dev/fairlead/internal/sandbox/olm"
	"github.com/fairlead-dev/fairlead/internal/sandbox/progress"
)

func TestMembersThatRefuseForOneReasonAreNamedTogether(t *testing.T) {
	early := func(published ...string) error {
		return fmt.Errorf("publishing: %w", &olm.RefusedError{Version: "v1.2.0", Published: published, Next: "v1.1.0"})
	}
	const on = "publishing v1.2.0 on "
	tests := map[string]struct {
		errs []error
		want []string
	}{
		"every member publishes":         {[]error{nil, nil, nil}, nil},
		"all refuse for one reason":      {[]error{early("v1.0.0"), early("v1.0.0"), early("v1.0.0")}, []string{on + "a, b, c: "}},
		"one catalog has fewer versions": {[]error{early("v1.0.0"), early(), early("v1.0.0")}, []string{on + "a, c: ", on + "b: "}},
		"one member does not answer":     {[]error{nil, errors.New("b is stopped"), early("v1.0.0")}, []string{"b is stopped", on + "c: "}},
		"no member answers":              {[]error{errors.New("1"), errors.New("2"), errors.New("3")}, []string{"1", "2", "3"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			if err := foldRefusals("v1.2.0", []string{"a", "b", "c"}, tt.errs); err != nil {
				for line := range strings.Lines(err.Error()) {
					head, _, _ := strings.Cut(strings.TrimSpace(line), "version ")
					got = append(got, head)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPublishingSaysWhatIsMissing(t *testing.T) {
	tests := map[string]struct {
		options Options
		says    string
	}{
		"a sandbox without OLM":          {Options{Name: "plain", Members: 1}, "hostctl sandbox up --name plain --olm"},
		"a sandbox without members":      {Options{Name: "alone", OLM: true}, "hostctl sandbox up --name alone --olm"},
		"a sandbox without a supervisor": {Options{Name: "dead", Members: 2, OLM: true}, "member-2: the sandbox is down; `hostctl sandbox up"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			err := planned(t, tt.options).Publish(t.Context(), "v1.1.0", progress.Discard())
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%v does not say %s", err, tt.says)
			}
		})
	}
}
