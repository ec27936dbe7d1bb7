// SPDX-License-Identifier: Apache-2.0

package version

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
)

// developed matches the version of a build that is no release. The tag of an image has a dash where the version has a
// plus sign.
var developed = regexp.MustCompile(`^v0\.0\.0-dev\.(\d{14})([+-]|$)`)

// Compare returns -1 if version a is older than b, 0 if they are the same, and 1 if a is newer. Releases have the order
// of Semantic Versioning. Builds that are no release are older than every release. Among each other, they have the
// order of their commits' times. Compare returns an error for a text that is no version, and for the version of a build
// that does not contain the time of the commit.
func Compare(a, b string) (int, error) {
	first, err := ordered(a)
	if err != nil {
		return 0, err
	}
	second, err := ordered(b)
	if err != nil {
		return 0, err
	}
	return semver.Compare(first, second), nil
}

// ordered returns the semantic version by which Compare orders v.
func ordered(v string) (string, error) {
	if m := developed.FindStringSubmatch(v); m != nil {
		return development + "." + m[1], nil
	}
	switch {
	case !semver.IsValid(v), strings.HasPrefix(v, development):
		// A development version without a time has only the hash of its commit, and hashes do not tell which commit is
		// later.
		return "", fmt.Errorf("version %q cannot be compared with other versions", v)
	case module.IsPseudoVersion(v) && semver.Major(v)+semver.MajorMinor(v) == "v0v0.0":
		t, err := module.PseudoVersionTime(v)
		if err != nil {
			return "", fmt.Errorf("version %q cannot be compared with other versions: %w", v, err)
		}
		return development + "." + t.UTC().Format(timeLayout), nil
	}
	return semver.Canonical(v), nil
}

// MinorsApart returns by how many minor versions two releases differ. If their major versions differ, minors is
// 65,536: more than any caller accepts. ok is false if one of the two versions is no release.
func MinorsApart(a, b string) (minors int, ok bool) {
	first, okFirst := minor(a)
	second, okSecond := minor(b)
	switch {
	case !okFirst || !okSecond:
		return 0, false
	case semver.Major(a) != semver.Major(b):
		return 1 << 16, true
	case first < second:
		return second - first, true
	}
	return first - second, true
}

func minor(v string) (int, bool) {
	if !semver.IsValid(v) || semver.MajorMinor(v) == "v0.0" {
		return 0, false
	}
	n, err := strconv.Atoi(strings.TrimPrefix(semver.MajorMinor(v), semver.Major(v)+"."))
	return n, err == nil
}
