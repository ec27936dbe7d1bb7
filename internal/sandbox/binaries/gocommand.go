// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// runGo runs the go command in dir and returns its standard output. It ignores the user's environment variables for modules and platforms. It calls
// progress with each line of standard error. If progress returns true, the line only shows progress, and is not part of runGo's error.
func runGo(ctx context.Context, dir string, progress func(line string) bool, args ...string) (string, error) {
	if _, err := exec.LookPath("go"); err != nil {
		return "", fmt.Errorf("the control planes are built with Go, which is not on PATH (https://go.dev/dl): %w", err)
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	if dir == "" {
		cmd.Dir = os.TempDir()
	}
	cmd.Env = goEnv(os.Environ())
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // a killed go command would leave its compilers running
	cmd.WaitDelay = 10 * time.Second
	var stdout bytes.Buffer
	stderr := lines{progress: progress}
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return "", fmt.Errorf("running go %s: %w\n%s", args[0], err, tail(stderr.rest(), 20))
	}
	return strings.TrimSpace(stdout.String()), nil
}

// lines is an io.Writer that calls progress with each written line. It keeps the lines for which progress returns false.
type lines struct {
	progress func(line string) bool
	kept     strings.Builder
	begun    []byte // the beginning of a line whose end has not been written yet
}

func (l *lines) Write(p []byte) (int, error) {
	l.begun = append(l.begun, p...)
	for {
		line, after, ended := bytes.Cut(l.begun, []byte("\n"))
		if !ended {
			return len(p), nil
		}
		if text := string(line); l.progress == nil || !l.progress(text) {
			l.kept.WriteString(text + "\n")
		}
		l.begun = after
	}
}

// rest returns the kept lines, and the last line if it is unfinished.
func (l *lines) rest() string { return l.kept.String() + string(l.begun) }

// goEnv returns environ without the variables that would change what go builds.
func goEnv(environ []string) []string {
	drop := map[string]bool{"GOFLAGS": true, "GOWORK": true, "GOOS": true, "GOARCH": true, "CGO_ENABLED": true,
		"GO111MODULE": true, "PWD": true}
	var env []string
	for _, kv := range environ {
		if name, _, _ := strings.Cut(kv, "="); !drop[name] {
			env = append(env, kv)
		}
	}
	return append(env, "GOWORK=off", "GOFLAGS=-mod=readonly", "CGO_ENABLED=0", "GO111MODULE=on")
}

func tail(text string, lines int) string {
	all := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
