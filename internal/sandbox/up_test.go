// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-dev/fairlead/internal/sandbox/binaries"
	"github.com/fairlead-dev/fairlead/internal/sandbox/progress"
)

// OLM's programs take minutes to build, so the clusters start before, and get OLM afterwards.
func TestTheClustersStartBeforeOLMsProgramsAreBuilt(t *testing.T) {
	broken := errors.New("no cluster starts")
	all := slices.Concat(binaries.ControlPlane(), binaries.OLMPrograms())
	for name, tc := range map[string]struct {
		olm, had bool // the user asks for OLM now; an earlier command did
		built    bool // OLM's programs are built
		fails    error
		want     []string
		started  bool // the clusters started without OLM
	}{
		"without OLM":                             {want: binaries.ControlPlane()},
		"without OLM, which is built":             {built: true, want: binaries.ControlPlane()},
		"with OLM, which is not built":            {olm: true, want: all, started: true},
		"with OLM, which is built":                {olm: true, built: true, want: all},
		"with OLM, and the clusters do not start": {olm: true, fails: broken, started: true},
		"a sandbox that had OLM before":           {olm: true, had: true, want: all},
		"a sandbox that had OLM before keeps it":  {had: true, want: all},
		"a sandbox that had OLM, which is built":  {had: true, built: true, want: all},
	} {
		t.Run(name, func(t *testing.T) {
			o := Options{Name: "first", Members: 2, OLM: tc.had}
			s := planned(t, o)
			if tc.built {
				set, _ := binaries.Build(t.Context(), s.cache, nil, progress.Discard()) // the folder does not exist yet
				if err := os.MkdirAll(set.Dir, 0o700); err != nil {
					t.Fatal(err)
				}
				for _, program := range all {
					if err := os.WriteFile(filepath.Join(set.Dir, program), []byte("#!/bin/sh\n"), 0o700); err != nil {
						t.Fatal(err)
					}
				}
			}
			started := false
			o.OLM = tc.olm
			got, err := s.programs(t.Context(), o, progress.Discard(), func(_ context.Context, plain Options, _ *progress.Printer) (*Sandbox, error) {
				started = true
				if plain.OLM || plain.Members != 2 || plain.Name != "first" {
					t.Errorf("the clusters start with %+v", plain)
				}
				return s, tc.fails
			})
			if !errors.Is(err, tc.fails) || started != tc.started {
				t.Errorf("error %v, started first: %t", err, started)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
