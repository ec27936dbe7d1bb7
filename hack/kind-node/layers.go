// SPDX-License-Identifier: Apache-2.0

package main

import (
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// withFile returns the image with a further layer, which has one executable. from is the path of the executable on this machine, and
// to is its path in the image.
func withFile(image v1.Image, from, to string) (v1.Image, error) {
	dir, err := os.MkdirTemp("", "kind-node-layer-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(to)), 0o755); err != nil {
		return nil, err
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return nil, err
	}
	if err := install(from, filepath.Join(dir, to), 0o755); err != nil {
		return nil, err
	}
	return withFolder(image, dir, filepath.Join(dir+".tar"))
}

// withFolder returns the image with a further layer: all files of a folder, with owners, modes and links. GNU tar packs them into the
// file at the path archive; "" means the path DIR.tar. That file must stay as long as the image is used.
func withFolder(image v1.Image, dir, archive string) (v1.Image, error) {
	if archive == "" {
		archive = dir + ".tar"
	}
	if said, err := exec.Command("tar", "--directory", dir, "--numeric-owner", "--one-file-system", "--create", "--file", archive, ".").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("packing %s: %w\n%s", dir, err, said)
	}
	layer, err := tarball.LayerFromFile(archive, tarball.WithCompressionLevel(gzip.BestSpeed), tarball.WithCompressedCaching)
	if err != nil {
		return nil, err
	}
	return mutate.AppendLayers(image, layer)
}

// install copies a file, and sets the mode of the copy.
func install(from, to string, mode os.FileMode) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		_ = out.Close()
		return err
	}
	if err := out.Close(); err != nil {
		return err
	}
	return os.Chmod(to, mode)
}
