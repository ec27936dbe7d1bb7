// SPDX-License-Identifier: Apache-2.0

package demooperator

import (
	"fmt"
	"slices"
	"strings"
)

// Name is the name of the operator's package in the catalog, of its Deployment, its service account and its field manager.
const Name = "demo-operator"

// Repository is the repository of the operator's image, which does not exist. The domain never resolves, so a pod on a real node could not pull some
// other program under this name.
const Repository = "example.invalid/" + Name

// release is a version of the operator, with the features in which versions differ.
type release struct {
	version string
	summary bool // the ConfigMap has the key summary, with a summary of the messages
	label   bool // the ConfigMap has a label with the version
}

// releases are all versions, in the order in which the sandbox publishes them and OLM upgrades to them.
var releases = []release{
	{version: "v1.0.0"},
	{version: "v1.1.0", summary: true},
	{version: "v1.2.0", summary: true, label: true},
}

// Versions returns all versions, the oldest first.
func Versions() []string {
	versions := make([]string, 0, len(releases))
	for _, r := range releases {
		versions = append(versions, r.version)
	}
	return versions
}

// Image returns the image in the Deployment of a version.
func Image(version string) string { return Repository + ":" + version }

// releaseOf returns the release with this version. The error for another version lists the existing ones.
func releaseOf(version string) (release, error) {
	i := slices.IndexFunc(releases, func(r release) bool { return r.version == version })
	if i < 0 {
		return release{}, fmt.Errorf("there is no version %q of %s: there are %s", version, Name, strings.Join(Versions(), ", "))
	}
	return releases[i], nil
}
