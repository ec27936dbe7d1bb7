// SPDX-License-Identifier: Apache-2.0

package errortext

import "strings"

// Diff returns "" if err is as expected, and otherwise a description of the difference. The text of err has to contain
// want. If want is "", err has to be nil.
func Diff(want string, err error) string {
	switch {
	case want == "" && err != nil:
		return "unexpected error: " + err.Error()
	case want != "" && err == nil:
		return "no error; want one with: " + want
	case want != "" && !strings.Contains(err.Error(), want):
		return "error: " + err.Error() + "\nwant in it: " + want
	}
	return ""
}
