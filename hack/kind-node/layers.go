// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// withFile returns the image with a further layer, which has one executable. from is the path of the executable on this machine, and
// to is its path in the image. The image keeps the content in memory.
func withFile(image v1.Image, from, to string) (v1.Image, error) {
	content, err := os.ReadFile(from)
	if err != nil {
		return nil, err
	}
	var packed bytes.Buffer
	w := tar.NewWriter(&packed)
	headers := []*tar.Header{{Typeflag: tar.TypeReg, Name: strings.TrimPrefix(to, "/"), Mode: 0o755, Size: int64(len(content))}}
	for dir := path.Dir(headers[0].Name); dir != "."; dir = path.Dir(dir) {
		headers = append(headers, &tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: 0o755})
	}
	slices.Reverse(headers) // a folder comes before what is in it
	for _, header := range headers {
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
	}
	if _, err := w.Write(content); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(packed.Bytes())), nil },
		tarball.WithCompressionLevel(gzip.BestSpeed), tarball.WithCompressedCaching)
	if err != nil {
		return nil, err
	}
	return mutate.AppendLayers(image, layer)
}

// withFolder returns the image with a further layer: all files of a folder, with owners, modes and links. GNU tar packs them into the
// file DIR.tar, which must stay as long as the image is used.
func withFolder(image v1.Image, dir string) (v1.Image, error) {
	archive := dir + ".tar"
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
