// SPDX-License-Identifier: Apache-2.0

package join

import (
	"fmt"
	"io"

	"github.com/fairlead-dev/fairlead/federate/health"
)

// maxLine bounds a line of Printer, in bytes.
const maxLine = 16 << 10

// Printer is a Reporter that writes a line for each step: ✓ for an object that is now correct, • for a remark.
func Printer(out io.Writer, dryRun bool) Reporter {
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
		line = health.Clean(line, maxLine) // a member's tenants choose names there
		_, _ = fmt.Fprintln(out, line)     // progress that can't be shown is no reason to stop the work
	}
}
