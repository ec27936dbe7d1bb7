// SPDX-License-Identifier: Apache-2.0

package demooperator

import (
	"fmt"
	"slices"
	"strings"
)

// Name is the operator's name: of its package in the catalog, its Deployment, its service account and its field manager.
const Name = "demo-operator"

// Repository is where the operator's image would be. Nothing serves it; the domain is one that never resolves, so that a pod
// which got onto a real node would fail to pull rather than run something else.
const Repository = "example.invalid/" + Name

// release is what one version does differently from the one before.
type release struct {
	version string
	summary bool // the ConfigMap has a key that sums the messages up
	label   bool // the ConfigMap's labels name the version
}

// releases are in the order in which they are published; OLM upgrades along it.
var releases = []release{
	{version: "v1.0.0"},
	{version: "v1.1.0", summary: true},
	{version: "v1.2.0", summary: true, label: true},
}

// Versions returns every version there is, oldest first.
func Versions() []string {
	versions := make([]string, 0, len(releases))
	for _, r := range releases {
		versions = append(versions, r.version)
	}
	return versions
}

// Image returns the image of a version's Deployment.
func Image(version string) string { return Repository + ":" + version }

// releaseOf returns the release of a version; the error names the versions there are.
func releaseOf(version string) (release, error) {
	i := slices.IndexFunc(releases, func(r release) bool { return r.version == version })
	if i < 0 {
		return release{}, fmt.Errorf("there is no version %q of %s: there are %s", version, Name, strings.Join(Versions(), ", "))
	}
	return releases[i], nil
}
