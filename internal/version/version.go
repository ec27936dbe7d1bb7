// SPDX-License-Identifier: Apache-2.0

package version

import "runtime/debug"

// Version is the release, set by
// -ldflags "-X github.com/fairlead-dev/fairlead/internal/version.Version=v1.2.3"; empty in every other build.
var Version string

// String is the release, or the module version that `go install …@VERSION` recorded, or v0.0.0-dev+COMMIT
// (with a trailing .dirty when the tree had changes).
func String() string {
	if Version != "" {
		return Version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "v0.0.0-dev"
	}
	return fromBuild(info)
}

func fromBuild(info *debug.BuildInfo) string {
	var commit string
	var dirty bool
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			commit = s.Value
		case "vcs.modified":
			dirty = s.Value == "true"
		}
	}
	switch {
	case commit == "" && info.Main.Version != "" && info.Main.Version != "(devel)":
		return info.Main.Version
	case commit == "":
		return "v0.0.0-dev"
	}
	v := "v0.0.0-dev+" + commit[:min(len(commit), 12)]
	if dirty {
		v += ".dirty"
	}
	return v
}
