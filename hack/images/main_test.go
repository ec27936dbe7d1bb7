// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/x509"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

var tested = buildInfo{version: "v0.0.0-dev+0123456789ab", commit: "0123456789abcdef", time: time.Unix(1_700_000_000, 0).UTC()}

// copyOfTree copies the repository's source into another folder, as if it were on another machine.
func copyOfTree(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	files, err := exec.CommandContext(t.Context(), "git", "-C", "../..", "ls-files", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		t.Fatal(err)
	}
	for file := range strings.Lines(string(files)) {
		file = strings.TrimSpace(file)
		content, err := os.ReadFile(filepath.Join("../..", file))
		if errors.Is(err, os.ErrNotExist) {
			continue // deleted in the work tree, but not in the commit
		}
		if err == nil {
			err = os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o755)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, file), content, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func build(t *testing.T, r buildInfo, root string) v1.Image {
	t.Helper()
	image, err := r.image(t.Context(), root, "collector", "amd64")
	if err != nil {
		t.Fatal(err)
	}
	return image
}

// collectorMost is the largest size of the files in the collector's image, in bytes. Every member has to pull that image.
const collectorMost = 45_000_000

func digest(t *testing.T, of interface{ Digest() (v1.Hash, error) }) string {
	t.Helper()
	d, err := of.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return d.String()
}

func TestTheSameCommitGivesTheSameDigestInAnotherFolder(t *testing.T) {
	here, there := build(t, tested, "../.."), build(t, tested, copyOfTree(t))
	if digest(t, here) != digest(t, there) {
		t.Errorf("the digest is %s from this folder and %s from the copy, want the same", digest(t, here), digest(t, there))
	}
	var indexes []string
	for _, image := range []v1.Image{here, there} {
		index, err := tested.index("collector", map[string]v1.Image{"amd64": image})
		if err != nil {
			t.Fatal(err)
		}
		indexes = append(indexes, digest(t, index))
	}
	if indexes[0] != indexes[1] {
		t.Errorf("indexes differ: %v", indexes)
	}
}

func TestAnImageHoldsAStaticBinaryAndNothingThatRuns(t *testing.T) {
	image := build(t, tested, "../..")
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if got := config.Config; got.User != "65532:65532" || !slices.Equal(got.Entrypoint, []string{"/collector"}) || len(got.Env) > 0 {
		t.Errorf("configuration: %+v", got)
	}
	if config.OS != "linux" || config.Architecture != "amd64" || !config.Created.Equal(tested.time) {
		t.Errorf("the image is for %s/%s and was created at %s", config.OS, config.Architecture, config.Created)
	}
	if got := config.Config.Labels["org.opencontainers.image.revision"]; got != tested.commit {
		t.Errorf("revision %q", got)
	}
	files := unpack(t, image)
	var names []string
	size := 0
	for file, content := range files {
		names = append(names, file)
		size += len(content)
	}
	if size > collectorMost {
		t.Errorf("the files in the collector's image have %d bytes, and %d are allowed: look for a new dependency of cmd/collector", size, collectorMost)
	}
	slices.Sort(names)
	want := []string{"collector", "etc/passwd", "etc/ssl/certs/ca-certificates.crt", "usr/share/sbom/collector.spdx.json"}
	if !slices.Equal(names, want) {
		t.Errorf("files: %v", names)
	}
	binary, err := elf.NewFile(bytes.NewReader(files["collector"]))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range binary.Progs {
		if p.Type == elf.PT_INTERP {
			t.Error("the binary needs a dynamic linker, and the image has none")
		}
	}
	if !x509.NewCertPool().AppendCertsFromPEM(files["etc/ssl/certs/ca-certificates.crt"]) {
		t.Error("the CA bundle holds no certificate")
	}
	var sbom spdxDocument
	if err := json.Unmarshal(files["usr/share/sbom/collector.spdx.json"], &sbom); err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(sbom.Packages, func(p spdxPackage) bool {
		return p.Name == "k8s.io/client-go" && strings.HasPrefix(p.Version, "v0.") && strings.HasPrefix(p.Comment, "go.sum: h1:")
	}) {
		t.Errorf("the SBOM does not list k8s.io/client-go: %+v", sbom.Packages)
	}
}

// unpack returns the files in an image. It fails the test if a file does not belong to root, has another time than the commit, or is setuid.
func unpack(t *testing.T, image v1.Image) map[string][]byte {
	t.Helper()
	layers, err := image.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("%d layers: %v", len(layers), err)
	}
	content, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for r := tar.NewReader(content); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if header.Uid != 0 || header.Gid != 0 || header.Mode&0o7022 != 0 || !header.ModTime.Equal(tested.time) {
			t.Errorf("%s: owner %d:%d, mode %o, time %s", header.Name, header.Uid, header.Gid, header.Mode, header.ModTime)
		}
		if header.Typeflag == tar.TypeDir {
			continue
		}
		if files[header.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
}

// built returns an index and an image for each program. All have the content of one image, which saves time: writing and pushing do not depend on the
// content.
func built(t *testing.T) (map[string]v1.ImageIndex, map[string]v1.Image) {
	t.Helper()
	image := build(t, tested, "../..")
	indexes, images := map[string]v1.ImageIndex{}, map[string]v1.Image{}
	for _, program := range programs {
		index, err := tested.index(program, map[string]v1.Image{"amd64": image, "arm64": image})
		if err != nil {
			t.Fatal(err)
		}
		indexes[program] = index
		for _, arch := range architectures {
			images[archive(program, arch)] = image
		}
	}
	return indexes, images
}

func TestImagesAreWrittenAndPushed(t *testing.T) {
	indexes, images := built(t)
	out := filepath.Join(t.TempDir(), "images")
	var told strings.Builder
	for range 2 { // the second time, write replaces the files of the first
		told.Reset()
		if err := tested.write(out, indexes, images, &told); err != nil {
			t.Fatal(err)
		}
	}
	for file := range images {
		written, err := os.Stat(filepath.Join(out, file))
		if err != nil {
			t.Fatal(err)
		}
		if line := fmt.Sprintf("  %s: %.1f MB\n", file, float64(written.Size())/1e6); !strings.Contains(told.String(), line) {
			t.Errorf("%q is not in:\n%s", line, told.String())
		}
	}
	tag, err := name.NewTag("fairlead/manager:v0.0.0-dev-0123456789ab")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tarball.ImageFromPath(filepath.Join(out, "manager-linux-arm64.tar"), &tag); err != nil {
		t.Errorf("the archive for docker load cannot be read: %v", err)
	}
	all, err := layout.ImageIndexFromPath(filepath.Join(out, "oci"))
	if err != nil {
		t.Fatal(err)
	}
	if manifest, err := all.IndexManifest(); err != nil || len(manifest.Manifests) != len(programs) {
		t.Errorf("the OCI layout must have one index for each program: %+v %v", manifest, err)
	}

	server := httptest.NewServer(registry.New())
	defer server.Close()
	prefix := strings.TrimPrefix(server.URL, "http://") + "/fairlead"
	if err := tested.push(context.Background(), prefix, indexes, io.Discard); err != nil {
		t.Fatal(err)
	}
	ref, err := name.NewTag(prefix + "/collector:v0.0.0-dev-0123456789ab")
	if err != nil {
		t.Fatal(err)
	}
	pushed, err := remote.Index(ref)
	if err != nil {
		t.Fatal(err)
	}
	if digest(t, pushed) != digest(t, indexes["collector"]) {
		t.Error("the pushed image has another digest than the built one")
	}
}
