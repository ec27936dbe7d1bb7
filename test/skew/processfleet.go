// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"

	"k8s.io/client-go/rest"

	"github.com/fairlead-dev/fairlead/internal/sandbox"
	"github.com/fairlead-dev/fairlead/internal/sandbox/progress"
	"github.com/fairlead-dev/fairlead/test/e2e/provider"
)

// processFleet is a sandbox, in which managers and collectors are processes of this machine.
type processFleet struct {
	name  string
	from  folders
	mixed string // the folder with a folder of programs for each stage
	// stages is how many stages have been started.
	stages int
}

// newProcessFleet takes down a sandbox of this name, because an earlier run may have left it.
func newProcessFleet(ctx context.Context, name string, from folders) (*processFleet, error) {
	if _, err := sandbox.Down(ctx, name); err != nil {
		return nil, err
	}
	mixed, err := os.MkdirTemp("", "fairlead-skew-")
	return &processFleet{name: name, from: from, mixed: mixed}, err
}

// members implements installation.
func (f *processFleet) members() []string {
	box, err := sandbox.Open(f.name)
	if err != nil {
		return nil // config reports it
	}
	return slices.DeleteFunc(box.Clusters(), func(name string) bool { return name == sandbox.HostName })
}

// config implements installation.
func (f *processFleet) config(name string) (*rest.Config, error) {
	box, err := sandbox.Open(f.name)
	if err != nil {
		return nil, err
	}
	return box.RESTConfig(name)
}

// provider implements installation.
func (f *processFleet) provider() (provider.Provider, error) {
	box, err := sandbox.Open(f.name)
	if err != nil {
		return nil, err
	}
	return provider.OfSandbox{Sandbox: box}, nil
}

// down implements installation.
func (f *processFleet) down(ctx context.Context, keep bool, p *progress.Printer) error {
	if keep {
		p.Note("sandbox %s still runs, with programs from %s", f.name, f.mixed)
		return nil
	}
	_, err := sandbox.Down(ctx, f.name)
	return errors.Join(err, os.RemoveAll(f.mixed))
}

// start implements installation. It makes a folder with the programs of the stage, and starts those that the sandbox does not run yet.
func (f *processFleet) start(ctx context.Context, s stage, _ *progress.Printer) error {
	f.stages++
	folder := filepath.Join(f.mixed, strconv.Itoa(f.stages))
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	for program, of := range map[string]version{hostctl: s.hostctl, manager: s.manager, collector: s.collector} {
		if err := copyProgram(filepath.Join(f.from[of], program), filepath.Join(folder, program)); err != nil {
			return err
		}
	}
	said := &bytes.Buffer{}
	cmd := exec.CommandContext(ctx, filepath.Join(folder, hostctl), "sandbox", "up", "--name", f.name, "--members", "3") //nolint:gosec // the user names the folders
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd, err, said)
	}
	return allRunFrom(ctx, f.name, folder)
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
