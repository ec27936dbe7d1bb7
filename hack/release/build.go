// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// platform is a platform for which hostctl is built.
type platform struct{ os, arch string }

var platforms = []platform{{"darwin", "amd64"}, {"darwin", "arm64"}, {"linux", "amd64"}, {"linux", "arm64"}, {"windows", "amd64"}}

// program returns the file name of hostctl in an archive.
func (p platform) program() string {
	if p.os == "windows" {
		return "hostctl.exe"
	}
	return "hostctl"
}

const (
	krewFile = "fairlead.yaml"
	// completeFile is the program that kubectl calls to complete the arguments of the plugin.
	completeFile = "kubectl_complete-fairlead"
)

func (r *release) base(p platform) string {
	return fmt.Sprintf("hostctl_%s_%s_%s", r.version, p.os, p.arch)
}
func (r *release) archive(p platform) string { return r.base(p) + ".tar.gz" }
func (r *release) sbom(p platform) string    { return r.base(p) + ".spdx.json" }
func (r *release) images() string            { return "fairlead-images_" + r.version + ".oci.tar" }
func (r *release) chart() string             { return "fairlead-" + strings.TrimPrefix(r.version, "v") + ".tgz" }

// files returns the names of all files of a release, without the signature.
func (r *release) files() []string {
	names := []string{krewFile, r.chart(), r.images()}
	for _, p := range platforms {
		names = append(names, r.archive(p), r.sbom(p))
	}
	slices.Sort(names)
	return append(names, sumsFile)
}

// build writes all files of the release into the staging folder.
func (r *release) build(ctx context.Context) error {
	work, err := os.MkdirTemp("", "fairlead-release-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }() // an error leaves files in the folder for temporary files
	for _, p := range platforms {
		fmt.Fprintf(r.progress, "• building hostctl for %s/%s\n", p.os, p.arch)
		if err := r.buildHostctl(ctx, p, work); err != nil {
			return fmt.Errorf("building hostctl for %s/%s: %w", p.os, p.arch, err)
		}
	}
	fmt.Fprintln(r.progress, "• building the images")
	if err := r.buildImages(ctx, work); err != nil {
		return fmt.Errorf("building the images: %w", err)
	}
	if err := r.buildChart(ctx, work); err != nil {
		return fmt.Errorf("building the chart: %w", err)
	}
	sums, err := sumsOf(r.staging)
	if err != nil {
		return err
	}
	if err := r.write(krewFile, krewManifest(r, sums)); err != nil {
		return err
	}
	if sums, err = sumsOf(r.staging); err != nil {
		return err
	}
	return r.write(sumsFile, formatSums(sums))
}

func (r *release) write(name string, content []byte) error {
	if err := os.WriteFile(filepath.Join(r.staging, name), content, 0o644); err != nil { //nolint:gosec // a release is no secret
		return err
	}
	fmt.Fprintln(r.progress, "✓", name)
	return nil
}

// buildHostctl writes hostctl's archive for one platform, and its SBOM.
func (r *release) buildHostctl(ctx context.Context, p platform, work string) error {
	binary := filepath.Join(work, r.base(p))
	if err := r.goRun(ctx, "hack/images", "binary", "-root", r.root, "-program", "hostctl", "-os", p.os, "-arch", p.arch, "-to", binary,
		"-version", r.version, "-commit", r.commit, "-time", r.seconds()); err != nil {
		return err
	}
	var entries []entry
	for _, f := range []struct {
		name, from string
		mode       int64
	}{
		{p.program(), binary, 0o755},
		{completeFile, filepath.Join(r.root, "cmd", "hostctl", completeFile), 0o755},
		{"LICENSE", filepath.Join(r.root, "LICENSE"), 0o644},
	} {
		content, err := os.ReadFile(f.from)
		if err != nil {
			return err
		}
		entries = append(entries, entry{f.name, f.mode, content})
	}
	if err := writeArchive(filepath.Join(r.staging, r.archive(p)), entries, r.time); err != nil {
		return err
	}
	fmt.Fprintln(r.progress, "✓", r.archive(p))
	sbom, err := os.ReadFile(binary + ".spdx.json")
	if err != nil {
		return err
	}
	return r.write(r.sbom(p), sbom)
}

// buildImages writes one archive in OCI format that has the images of all programs.
func (r *release) buildImages(ctx context.Context, work string) error {
	folder := filepath.Join(work, "images")
	if err := r.goRun(ctx, "hack/images", "-root", r.root, "-out", folder, "-version", r.version, "-commit", r.commit, "-time", r.seconds()); err != nil {
		return err
	}
	entries, err := readFolder(filepath.Join(folder, "oci"))
	if err != nil {
		return err
	}
	if err := writeArchive(filepath.Join(r.staging, r.images()), entries, r.time); err != nil {
		return err
	}
	fmt.Fprintln(r.progress, "✓", r.images())
	return nil
}

// buildChart packages the chart. Helm gives the files the time of the packaging, so buildChart repacks them with the commit's time.
func (r *release) buildChart(ctx context.Context, work string) error {
	if err := r.goRun(ctx, "hack/manifests", "package", r.version, work); err != nil {
		return err
	}
	entries, err := readTarGz(filepath.Join(work, r.chart()))
	if err != nil {
		return err
	}
	if err := writeArchive(filepath.Join(r.staging, r.chart()), entries, r.time); err != nil {
		return err
	}
	fmt.Fprintln(r.progress, "✓", r.chart())
	return nil
}

func (r *release) seconds() string { return strconv.FormatInt(r.time.Unix(), 10) }

// goRun runs the program in another module of this repository.
func (r *release) goRun(ctx context.Context, module string, args ...string) error {
	cmd := exec.CommandContext(ctx, "go", append([]string{"run", "."}, args...)...)
	cmd.Dir = filepath.Join(r.root, module)
	// The program runs on this machine, so the caller's GOOS and GOARCH must not apply to it.
	cmd.Env = append(os.Environ(), "GOOS=", "GOARCH=", "GOFLAGS=", "GOWORK=off", "SOURCE_DATE_EPOCH="+r.seconds())
	cmd.WaitDelay = 10 * time.Second // if the user interrupts the release, the program can outlive the go command
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go run in %s: %w\n%s", module, err, strings.TrimSpace(string(said)))
	}
	return nil
}
