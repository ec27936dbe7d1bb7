// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// archive returns the name of the file for `docker load` and `kind load image-archive`. The file has one image, of one architecture.
func archive(program, arch string) string { return program + "-linux-" + arch + ".tar" }

// tag returns the version as an image tag, with a dash in place of each plus sign, which a tag must not have.
func (r buildInfo) tag() string { return strings.ReplaceAll(r.version, "+", "-") }

// write writes all images into the folder out: an OCI layout of all images in oci/, and one archive for each program and architecture. It
// first fills a new folder, and then replaces out with this folder. It tells the size of each archive, whose layers are compressed.
func (r buildInfo) write(out string, indexes map[string]v1.ImageIndex, images map[string]v1.Image, progress io.Writer) error {
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return err
	}
	next, err := os.MkdirTemp(filepath.Dir(out), ".images-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(next)
	if err := os.Chmod(next, 0o755); err != nil { //nolint:gosec // the images are no secret
		return err
	}
	path, err := layout.Write(filepath.Join(next, "oci"), empty.Index)
	if err != nil {
		return err
	}
	for _, program := range programs {
		index := indexes[program]
		if err := path.AppendIndex(index, layout.WithAnnotations(map[string]string{
			"org.opencontainers.image.ref.name": "fairlead-" + program + ":" + r.tag(),
		})); err != nil {
			return fmt.Errorf("%s: %w", program, err)
		}
		for _, arch := range architectures {
			file := archive(program, arch)
			if _, built := images[file]; !built {
				continue
			}
			ref, err := name.NewTag("fairlead/" + program + ":" + r.tag())
			if err != nil {
				return err
			}
			if err := tarball.WriteToFile(filepath.Join(next, file), ref, images[file]); err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
			written, err := os.Stat(filepath.Join(next, file))
			if err != nil {
				return err
			}
			fmt.Fprintf(progress, "  %s: %.1f MB\n", file, float64(written.Size())/1e6)
		}
		digest, err := index.Digest()
		if err != nil {
			return err
		}
		fmt.Fprintf(progress, "✓ %s %s:%s\n", digest, program, r.tag())
	}
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	return os.Rename(next, out)
}

// push pushes each program's image to a registry as PREFIX/NAME:VERSION, with the credentials of `docker login`.
func (r buildInfo) push(ctx context.Context, prefix string, indexes map[string]v1.ImageIndex, progress io.Writer) error {
	for _, program := range programs {
		ref, err := name.NewTag(strings.TrimSuffix(prefix, "/") + "/" + program + ":" + r.tag())
		if err != nil {
			return fmt.Errorf("pushing %s to %s: %w", program, prefix, err)
		}
		if err := remote.WriteIndex(ref, indexes[program], remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)); err != nil {
			return fmt.Errorf("pushing %s: %w", ref, err)
		}
		digest, err := indexes[program].Digest()
		if err != nil {
			return fmt.Errorf("pushing %s: %w", ref, err)
		}
		fmt.Fprintf(progress, "✓ pushed %s@%s\n", ref, digest)
	}
	return nil
}
