// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"strings"

	"github.com/blang/semver/v4"
)

// Order compares two CSVs of one package by the versions in their names. It returns -1 if a is earlier than b, 0 if both
// have the same version, and 1 if a is later. It returns no order (ok is false) if a name has no version, if the packages
// differ, or if the names do not tell which of the two is later.
//
// A name is <package>.v<version> or <package>.<version>, with a complete semantic version. OLM requires neither form,
// but its tools and most publishers use one of them.
func Order(a, b string) (cmp int, ok bool) {
	packageOfA, versionOfA, ok := split(a)
	if !ok {
		return 0, false
	}
	packageOfB, versionOfB, ok := split(b)
	if !ok || packageOfA != packageOfB || isRebuild(versionOfA, versionOfB) || isRebuild(versionOfB, versionOfA) {
		return 0, false
	}
	// Compare ignores build metadata. Names of objects have none, because they cannot contain a plus sign.
	return versionOfA.Compare(versionOfB), true
}

// IsLater reports whether a CSV is certainly a later version of the same package than another one. It is false if the names give no order
// (see Order), for example because one of them is "".
func IsLater(csv, than string) bool {
	order, known := Order(csv, than)
	return known && order > 0
}

// split divides the name of a CSV into package and version. A package and a prerelease may contain dots. So the version
// is the longest end of the name, after a dot, that is a semantic version.
func split(name string) (string, semver.Version, bool) {
	for i := range len(name) {
		if name[i] != '.' || i == 0 {
			continue
		}
		if version, err := semver.Parse(strings.TrimPrefix(name[i+1:], "v")); err == nil {
			return name[:i], version, true
		}
	}
	return "", semver.Version{}, false
}

// isRebuild reports whether the first version may be a rebuild of the second one. For example, 5.8.1+0.166 is a rebuild
// of 5.8.1, and later. The name of a CSV cannot contain a plus sign, so it has 5.8.1-0.166 instead. In this form the
// version looks like a prerelease of 5.8.1, which would be earlier.
func isRebuild(version, of semver.Version) bool {
	return version.FinalizeVersion() == of.FinalizeVersion() && len(of.Pre) == 0 && len(version.Pre) > 0 && version.Pre[0].IsNum
}
