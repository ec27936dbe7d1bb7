// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestMain lets the test binary be the supervisor, as hostctl is for users' sandboxes.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "supervise" {
		if err := Run(os.Args[2], os.Stderr); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// launched makes a folder with a running supervisor, for the time of the test.
func launched(t *testing.T) (*Client, string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "member-1"), 0o700); err != nil {
		t.Fatal(err)
	}
	c := NewClient(dir)
	t.Cleanup(func() {
		if err := c.Down(context.Background()); err != nil {
			t.Errorf("taking it down: %v", err)
		}
	})
	launch(t, c)
	return c, dir
}

func launch(t *testing.T, c *Client) {
	t.Helper()
	if err := c.Launch(t.Context(), []string{os.Args[0], "supervise", c.dir}); err != nil {
		t.Fatal(err)
	}
}

// shell returns a process that runs a shell script.
func shell(name, script string, after ...string) Process {
	return Process{Cluster: "member-1", Name: name, Path: "/bin/sh", Args: []string{"-c", script}, After: after}
}

const forEver = "while :; do sleep 0.05; done"

func apply(t *testing.T, c *Client, processes ...Process) {
	t.Helper()
	if err := c.Apply(t.Context(), processes...); err != nil {
		t.Fatal(err)
	}
}

// eventually waits for up to ten seconds until condition is true. what names the condition in the error.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-deadline:
			t.Fatalf("waited in vain for %s", what)
		case <-tick.C:
		}
	}
}

func status(t *testing.T, c *Client, name string) Status {
	t.Helper()
	all, err := c.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(s Status) bool { return s.Name == name })
	if i < 0 {
		return Status{}
	}
	return all[i]
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(content))
}
