// SPDX-License-Identifier: Apache-2.0

package join

import (
	"fmt"
	"io"
)

// Narrate is a Reporter that writes a line a step: ✓ for what is as it should be now, • for a remark.
func Narrate(out io.Writer, dryRun bool) Reporter {
	return func(s Step) {
		line := "✓ " + s.What
		switch {
		case s.Outcome == Noted:
			line = "• " + s.What
		case s.Outcome == Checked:
		case dryRun && s.Outcome != Unchanged:
			line = "• " + s.What + " would be " + string(s.Outcome)
		default:
			line += " " + string(s.Outcome)
		}
		if s.Note != "" {
			line += " (" + s.Note + ")"
		}
		_, _ = fmt.Fprintln(out, line) // progress that can't be shown is no reason to stop the work
	}
}
