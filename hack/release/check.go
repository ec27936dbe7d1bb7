// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/semver"
)

// stagingFolder is a folder in the output folder. All files of a release stay there until the last one is complete. An interrupted release
// leaves the folder behind.
const stagingFolder = ".partial"

// checkVersion returns an error unless version is vMAJOR.MINOR.PATCH, with or without a pre-release.
func checkVersion(version string) error {
	switch {
	case version == "":
		return errors.New("VERSION is not given: run, for example, make release VERSION=v0.1.0")
	case semver.Canonical(version) != version || semver.Build(version) != "":
		return fmt.Errorf("VERSION=%s is not a version of a release: write vMAJOR.MINOR.PATCH or vMAJOR.MINOR.PATCH-PRERELEASE, "+
			"as in v0.1.0 or v0.1.0-rc.1. Image tags allow no +", version)
	}
	return nil
}

// tree is the work tree from which the release is built: its root, its commit, and the time of the commit.
type tree struct {
	root, commit string
	time         time.Time
}

// readTree returns the commit and its time. It returns an error if the work tree has changes that are not in the commit.
func readTree(ctx context.Context) (tree, error) {
	status, err := git(ctx, "status", "--porcelain", "--untracked-files=normal") // --untracked-files: the caller's configuration may hide untracked files
	if err != nil {
		return tree{}, err
	}
	if status != "" {
		return tree{}, fmt.Errorf("the work tree differs from the commit: commit, stash or remove these files first:\n%s", status)
	}
	var t tree
	if t.root, err = git(ctx, "rev-parse", "--show-toplevel"); err != nil {
		return tree{}, err
	}
	if t.commit, err = git(ctx, "rev-parse", "HEAD"); err != nil {
		return tree{}, err
	}
	text, err := git(ctx, "log", "-1", "--format=%ct")
	if err != nil {
		return tree{}, err
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return tree{}, fmt.Errorf("reading the time of the commit: %w", err)
	}
	t.time = time.Unix(seconds, 0).UTC()
	return t, nil
}

func git(ctx context.Context, args ...string) (string, error) {
	said, err := exec.CommandContext(ctx, "git", args...).Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(said)), nil
}

// emptyStaging makes an empty staging folder in folder. What an interrupted release has left there must go: the checksums are of all
// files in the staging folder.
func emptyStaging(folder string) (string, error) {
	staging := filepath.Join(folder, stagingFolder)
	if err := os.RemoveAll(staging); err != nil {
		return "", fmt.Errorf("emptying the staging folder: %w", err)
	}
	return staging, os.MkdirAll(staging, 0o755) //nolint:gosec // a release is no secret
}

// checkFolder returns an error if the folder has a file that no release writes. The user could publish this file by mistake.
func checkFolder(folder string, wanted []string) error {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the output folder: %w", err)
	}
	var others []string
	for _, e := range entries {
		if e.Name() != stagingFolder && !slices.Contains(wanted, e.Name()) {
			others = append(others, e.Name())
		}
	}
	if len(others) > 0 {
		return fmt.Errorf("OUT=%s has files that are not of this release: %s. Remove them, or give another folder with OUT=DIR", folder, strings.Join(others, ", "))
	}
	return nil
}
