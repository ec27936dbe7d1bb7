// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"fmt"
	"io"

	"github.com/fairlead-dev/fairlead/federate/health"
)

// maxLine is the longest line that Printer writes, in bytes.
const maxLine = 16 << 10

// Printer is a Reporter that writes a line for each step: ✓ for an object that is as the join wants it, • for a remark. In
// a dry run, • also marks an object that a real join would change.
func Printer(out io.Writer, dryRun bool) Reporter {
	return func(s Step) {
		line := "✓ " + s.String()
		switch {
		case s.Outcome == Noted:
			line = "• " + s.String()
		case dryRun && s.Outcome != Checked && s.Outcome != Unchanged:
			line = "• " + s.What + " would be " + string(s.Outcome) + s.note()
		}
		line = health.Clean(line, maxLine) // users of the member choose some of the names in the line, so it may contain control characters
		_, _ = fmt.Fprintln(out, line)     // a failure to show the progress does not stop the join
	}
}
