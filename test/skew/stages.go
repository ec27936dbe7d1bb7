// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/fairlead-dev/fairlead/internal/sandbox"
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

// start makes a folder with the programs of the stage, and starts those that the sandbox does not run yet.
func (s stage) start(ctx context.Context, name string, from folders, folder string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	for program, of := range map[string]version{hostctl: s.hostctl, manager: s.manager, collector: s.collector} {
		if err := copyProgram(filepath.Join(from[of], program), filepath.Join(folder, program)); err != nil {
			return err
		}
	}
	said := &bytes.Buffer{}
	cmd := exec.CommandContext(ctx, filepath.Join(folder, hostctl), "sandbox", "up", "--name", name, "--members", "3") //nolint:gosec // the user names the folders
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd, err, said)
	}
	return allRunFrom(ctx, name, folder)
}

// allRunFrom returns an error if a manager or a collector of the sandbox is not a program in the folder.
func allRunFrom(ctx context.Context, name, folder string) error {
	box, err := sandbox.Open(name)
	if err != nil {
		return err
	}
	processes, err := box.Processes(ctx)
	if err != nil {
		return err
	}
	for _, p := range processes {
		if p.Name != sandbox.ManagerProcess && p.Name != sandbox.CollectorProcess {
			continue
		}
		program, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", p.PID))
		if err != nil {
			return fmt.Errorf("finding the program of %s of %s: %w", p.Name, p.Cluster, err)
		}
		if filepath.Dir(program) != folder {
			return fmt.Errorf("%s of %s runs %s, and the stage needs the program in %s", p.Name, p.Cluster, program, folder)
		}
	}
	return nil
}

// copyProgram copies a program. The supervisor runs a path again after a crash, so that path must keep its content.
func copyProgram(from, to string) error {
	content, err := os.ReadFile(from) //nolint:gosec // the user names the folders
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o700) //nolint:gosec // it is a program
}
