// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPrinterWritesALineForEachStep(t *testing.T) {
	for name, tc := range map[string]struct {
		step Step
		dry  bool
		want string
	}{
		"done":                       {step: Step{Outcome: Created, What: "host: Secret a"}, want: "✓ host: Secret a created\n"},
		"with a note":                {step: Step{Outcome: Removed, What: "role", Note: "no longer allowed"}, want: "✓ role removed (no longer allowed)\n"},
		"looked at":                  {step: Step{Outcome: Checked, What: "the host"}, want: "✓ the host\n"},
		"a remark":                   {step: Step{Outcome: Noted, What: "mind this"}, want: "• mind this\n"},
		"a dry run says would":       {step: Step{Outcome: Created, What: "role"}, dry: true, want: "• role would be created\n"},
		"a dry run of what is there": {step: Step{Outcome: Unchanged, What: "role"}, dry: true, want: "✓ role unchanged\n"},
	} {
		var b strings.Builder
		Printer(&b, tc.dry)(tc.step)
		if diff := cmp.Diff(tc.want, b.String()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
