// SPDX-License-Identifier: Apache-2.0

package kindclusters

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// PodImage is the name of the image with the program of the test pods.
const PodImage = "fairlead/e2e-pod:local"

// podArchive makes the image of the test pods, and returns the path of its archive.
func podArchive(ctx context.Context, o Options) (string, error) {
	program, path := filepath.Join(o.Fairlead.Images, "pod"), filepath.Join(o.Fairlead.Images, "e2e-pod.tar")
	if err := imageFrom(ctx, PodImage, []string{program}, `ENTRYPOINT ["/pod"]`); err != nil {
		return "", fmt.Errorf("%w; hack/e2e.sh builds the program", err)
	}
	return path, saveImages(ctx, path, PodImage)
}

// saveImages writes images of the engine into one archive.
func saveImages(ctx context.Context, path string, images ...string) error {
	if _, err := docker(ctx, nil, append([]string{"save", "--output", path}, images...)...); err != nil {
		return fmt.Errorf("saving images: %w", err)
	}
	return nil
}

// imageFrom makes an image that has these files in its root folder. The changes are instructions of a Dockerfile.
func imageFrom(ctx context.Context, name string, files []string, changes ...string) error {
	var layer bytes.Buffer
	w := tar.NewWriter(&layer)
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := w.WriteHeader(&tar.Header{Name: filepath.Base(file), Mode: 0o755, Size: int64(len(content))}); err != nil {
			return err
		}
		if _, err := w.Write(content); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	args := []string{"import"}
	for _, change := range changes {
		args = append(args, "--change", change)
	}
	if _, err := docker(ctx, &layer, append(args, "-", name)...); err != nil {
		return fmt.Errorf("making image %s: %w", name, err)
	}
	return nil
}
