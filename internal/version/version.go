// SPDX-License-Identifier: Apache-2.0

package version

import (
	"runtime/debug"
	"time"
)

// Version is the release, set by
// -ldflags "-X github.com/fairlead-dev/fairlead/internal/version.Version=v1.2.3"; empty in every other build.
var Version string

// development begins the version of every build that is no release. The time of its commit follows.
const development = "v0.0.0-dev"

// timeLayout is the form of the commit's time in a version, in UTC. Go's pseudo-versions use the same.
const timeLayout = "20060102150405"

// String is the release, or the module version that `go install …@VERSION` recorded, or v0.0.0-dev.TIME+COMMIT
// (with a trailing .dirty when the tree had changes). TIME is that of the commit, so that Compare orders such builds.
func String() string {
	if Version != "" {
		return Version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return development
	}
	return fromBuild(info)
}

func fromBuild(info *debug.BuildInfo) string {
	var commit, at string
	var dirty bool
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			commit = s.Value
		case "vcs.time":
			if t, err := time.Parse(time.RFC3339, s.Value); err == nil {
				at = "." + t.UTC().Format(timeLayout)
			}
		case "vcs.modified":
			dirty = s.Value == "true"
		}
	}
	switch {
	case commit == "" && info.Main.Version != "" && info.Main.Version != "(devel)":
		return info.Main.Version
	case commit == "":
		return development
	}
	v := development + at + "+" + commit[:min(len(commit), 12)]
	if dirty {
		v += ".dirty"
	}
	return v
}
