// SPDX-License-Identifier: Apache-2.0

package logs

import "slices"

// newLines returns the lines of the snapshot next that come after the snapshot last. Both are parts of one log: next was taken later, and
// each ends with the newest line of its time. overlaps is false if the two have no line in common, so lines between them may be missing;
// newLines then returns all of next.
//
// The lines have no position in the log, so newLines looks for the end of last in next. If several places match, it takes the one where the
// largest number of lines match, and of equal ones the first. So as long as the window of the snapshots only moves forward, no line is
// returned twice. If a log repeats the same lines, newLines can return fewer repetitions than the log has.
func newLines(last, next []string) (lines []string, overlaps bool) {
	end, most := 0, 0
	for i := range next {
		// Find the end of last at the end of next[:i+1]. It need not be at the beginning of next: all containers share one limit of
		// bytes, so when the other logs leave more room, next reaches further back than last.
		common := min(len(last), i+1)
		if common > most && slices.Equal(last[len(last)-common:], next[i+1-common:i+1]) {
			end, most = i+1, common
		}
	}
	return next[end:], most > 0 || len(last) == 0 || len(next) == 0
}
