// SPDX-License-Identifier: Apache-2.0

package demooperator

import (
	"fmt"
	"slices"
	"strings"
)

// Name is the operator's name: of its package in the catalog, its Deployment, its service account and its field manager.
const Name = "demo-operator"

// Repository is the repository of the operator's image. The image does not exist. The domain never resolves, so a pod on a real node would
// fail to pull and not run another program.
const Repository = "example.invalid/" + Name

// release describes the features of a version that differ between versions.
type release struct {
	version string
	summary bool // the ConfigMap has a key with a summary of the messages
	label   bool // the ConfigMap has a label with the version
}

// releases are in the order in which they are published; OLM upgrades along it.
var releases = []release{
	{version: "v1.0.0"},
	{version: "v1.1.0", summary: true},
	{version: "v1.2.0", summary: true, label: true},
}

// Versions returns all versions, oldest first.
func Versions() []string {
	versions := make([]string, 0, len(releases))
	for _, r := range releases {
		versions = append(versions, r.version)
	}
	return versions
}

// Image returns the image of a version's Deployment.
func Image(version string) string { return Repository + ":" + version }

// releaseOf returns the release of a version. The error names the existing versions.
func releaseOf(version string) (release, error) {
	i := slices.IndexFunc(releases, func(r release) bool { return r.version == version })
	if i < 0 {
		return release{}, fmt.Errorf("there is no version %q of %s: there are %s", version, Name, strings.Join(Versions(), ", "))
	}
	return releases[i], nil
}
