// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/rest"

	"github.com/fairlead-dev/fairlead/internal/sandbox/progress"
	"github.com/fairlead-dev/fairlead/test/e2e/provider"
)

// The programs of Fairlead.
const (
	hostctl   = "hostctl"
	manager   = "manager"
	collector = "collector"
)

// version names one of the two versions of Fairlead.
type version string

const (
	oldVersion version = "old"
	newVersion version = "new"
)

// folders has the folder with the programs of each version.
type folders map[version]string

// differ returns an error if a program is the same in both versions.
func (f folders) differ(program string) error {
	var contents [][]byte
	for _, dir := range f {
		content, err := os.ReadFile(filepath.Join(dir, program)) //nolint:gosec // the user names the folders
		if err != nil {
			return err
		}
		contents = append(contents, content)
	}
	if bytes.Equal(contents[0], contents[1]) {
		return fmt.Errorf("%s is the same program in %s and %s: give two versions", program, f[oldVersion], f[newVersion])
	}
	return nil
}

// stage has the version of each program that runs. The version of hostctl is that of the CRDs, roles and policies on the host and on the
// members.
type stage struct{ hostctl, manager, collector version }

// installation is a fleet on which the programs of two versions can run.
type installation interface {
	// start changes the programs that run to those of a stage. In the first stage it makes the clusters before.
	start(ctx context.Context, s stage, p *progress.Printer) error
	// members returns the names of the members.
	members() []string
	// config returns an administrator's configuration for the host, or for the member with this name.
	config(name string) (*rest.Config, error)
	// provider returns the clusters, or an error if there are none yet.
	provider() (provider.Provider, error)
	// down takes the clusters down, unless keep is true.
	down(ctx context.Context, keep bool, p *progress.Printer) error
}

// stages are an upgrade that begins with the host, its way back, and an upgrade that begins with the members.
var stages = []stage{
	{oldVersion, oldVersion, oldVersion},
	{newVersion, newVersion, oldVersion},
	{newVersion, newVersion, newVersion},
	{oldVersion, oldVersion, newVersion},
	{oldVersion, oldVersion, oldVersion},
	{newVersion, oldVersion, newVersion},
	{newVersion, newVersion, newVersion},
}

func (s stage) String() string {
	return fmt.Sprintf("CRDs and roles %s, manager %s, collectors %s", s.hostctl, s.manager, s.collector)
}
