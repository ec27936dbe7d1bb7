// SPDX-License-Identifier: Apache-2.0

package version

import (
	"runtime/debug"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestVersionFromBuildInfo(t *testing.T) {
	commit := debug.BuildSetting{Key: "vcs.revision", Value: "0123456789abcdef0123"}
	at := debug.BuildSetting{Key: "vcs.time", Value: "2026-11-22T15:04:05+01:00"}
	modified := debug.BuildSetting{Key: "vcs.modified", Value: "true"}
	both := []debug.BuildSetting{commit, at, modified}
	tests := map[string]struct {
		info *debug.BuildInfo
		want string
	}{
		"a checkout is named after its commit":     {&debug.BuildInfo{Settings: []debug.BuildSetting{at, commit}}, "v0.0.0-dev.20261122140405+0123456789ab"},
		"a commit without its time":                {&debug.BuildInfo{Settings: []debug.BuildSetting{commit}}, "v0.0.0-dev+0123456789ab"},
		"a changed checkout says so":               {&debug.BuildInfo{Settings: both}, "v0.0.0-dev.20261122140405+0123456789ab.dirty"},
		"go install of a release keeps its number": {&debug.BuildInfo{Main: debug.Module{Version: "v1.4.0"}}, "v1.4.0"},
		"a build without git is still a version":   {&debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, "v0.0.0-dev"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, fromBuild(tt.info)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
