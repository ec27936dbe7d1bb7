// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// command runs a program and returns its standard output. If the program fails, the error has the end of its standard error.
func command(ctx context.Context, name string, args ...string) (string, error) {
	return commandIn(ctx, "", nil, name, args...)
}

func commandIn(ctx context.Context, dir string, env []string, name string, args ...string) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		said := strings.TrimSpace(stderr.String())
		return stdout.String(), fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, said[max(0, len(said)-4000):])
	}
	return strings.TrimSpace(stdout.String()), nil
}

// goCommand runs the go command in dir. The user's settings for flags, workspace and platform have no effect.
func goCommand(ctx context.Context, dir string, env []string, args ...string) (string, error) {
	return commandIn(ctx, dir, append([]string{"GOFLAGS=-buildvcs=false", "GOWORK=off", "GOOS=", "GOARCH="}, env...), "go", args...)
}

// download downloads a module into Go's module cache, and returns the module's folder there.
func download(ctx context.Context, module, version string) (string, error) {
	said, err := goCommand(ctx, os.TempDir(), nil, "mod", "download", "-json", module+"@"+version)
	if err != nil {
		return "", err
	}
	var found struct{ Dir string }
	if err := json.Unmarshal([]byte(said), &found); err != nil {
		return "", fmt.Errorf("reading the folder of module %s %s: %w", module, version, err)
	}
	return found.Dir, nil
}
