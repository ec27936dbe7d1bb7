// SPDX-License-Identifier: Apache-2.0

package version

import (
	"runtime/debug"
	"time"
)

// Version is the version of a release, for example v1.2.3; "" in every other build. The linker sets it:
//
//	-ldflags "-X github.com/fairlead-dev/fairlead/internal/version.Version=v1.2.3"
var Version string

// development begins the version of every build that is no release. If the time of its commit is known, that time
// follows.
const development = "v0.0.0-dev"

// timeLayout is the layout of a commit's time in a version, in UTC. Go's pseudo-versions have the same layout.
const timeLayout = "20060102150405"

// String returns the version of the running program:
//
//   - Version, if it is set;
//   - or else the module version that `go install …@VERSION` recorded in the binary;
//   - or else v0.0.0-dev.TIME+COMMIT, where TIME is the time of the commit. It ends in .dirty if the source tree had
//     changes.
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
