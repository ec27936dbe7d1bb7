// SPDX-License-Identifier: Apache-2.0

package errortext

import "strings"

// Diff returns "" if the text of err contains want, or if err is nil and want is "".
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
