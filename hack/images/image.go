// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// user is the user and the group that run the binary. They are numbers, because the kubelet cannot verify runAsNonRoot if the user of an
// image is a name.
const user = "65532:65532"

// descriptions has, for each program, the value of the image's label org.opencontainers.image.description.
var descriptions = map[string]string{
	"manager":   "Fairlead's manager: distributes objects from the host to its members",
	"collector": "Fairlead's collector: observes what Fairlead delivered to a member",
	"hostctl":   "Fairlead's command line",
}

// buildInfo is the version, the commit and the time of all images of one build.
type buildInfo struct {
	version string
	commit  string
	// time is the commit's time. All files and images get it, so that the digests do not depend on when the build runs.
	time time.Time
}

// image builds the image of one program for one architecture of Linux.
func (r buildInfo) image(ctx context.Context, root, program, arch string) (v1.Image, error) {
	dir, err := os.MkdirTemp("", "fairlead-images-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	binary := filepath.Join(dir, program)
	if err := r.compile(ctx, root, program, "linux", arch, binary); err != nil {
		return nil, err
	}
	layer, err := r.layer(binary, program)
	if err != nil {
		return nil, err
	}
	image := mutate.MediaType(empty.Image, types.OCIManifestSchema1)
	image = mutate.ConfigMediaType(image, types.OCIConfigJSON)
	if image, err = mutate.Append(image, mutate.Addendum{Layer: layer, MediaType: types.OCILayer, History: v1.History{
		Created: v1.Time{Time: r.time}, CreatedBy: "make images", Comment: program,
	}}); err != nil {
		return nil, fmt.Errorf("adding the layer: %w", err)
	}
	written, err := image.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	config := written.DeepCopy()
	config.OS, config.Architecture, config.Created = "linux", arch, v1.Time{Time: r.time}
	config.Config = v1.Config{User: user, Entrypoint: []string{"/" + program}, WorkingDir: "/", Labels: r.labels(program)}
	return mutate.ConfigFile(image, config)
}

// index returns an image index with the images of one program. byArch has one image for each architecture.
func (r buildInfo) index(program string, byArch map[string]v1.Image) (v1.ImageIndex, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, arch := range architectures {
		image, ok := byArch[arch]
		if !ok {
			continue
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{
			Platform: &v1.Platform{OS: "linux", Architecture: arch},
		}})
	}
	labeled, ok := mutate.Annotations(index, r.labels(program)).(v1.ImageIndex)
	if !ok {
		return nil, fmt.Errorf("labelling the index of %s: it is a %T, want a v1.ImageIndex", program, index)
	}
	return labeled, nil
}

func (r buildInfo) labels(program string) map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":       "fairlead-" + program,
		"org.opencontainers.image.description": descriptions[program],
		"org.opencontainers.image.version":     r.version,
		"org.opencontainers.image.revision":    r.commit,
		"org.opencontainers.image.created":     r.time.Format(time.RFC3339),
		"org.opencontainers.image.licenses":    "Apache-2.0",
		"org.opencontainers.image.source":      "https://github.com/fairlead-dev/fairlead",
	}
}

// compile builds a static binary. The result does not depend on where and when it is built.
func (r buildInfo) compile(ctx context.Context, root, program, goos, arch, to string) error {
	to, err := filepath.Abs(to)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false",
		"-ldflags", "-s -w -buildid= -X github.com/fairlead-dev/fairlead/internal/version.Version="+r.version,
		"-o", to, "./cmd/"+program)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+arch, "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=", "GOWORK=off", "GOEXPERIMENT=")
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build ./cmd/%s: %w\n%s", program, err, strings.TrimSpace(string(said)))
	}
	return nil
}

// layer returns the only layer of an image. It has all files of the image.
func (r buildInfo) layer(binary, program string) (v1.Layer, error) {
	content, err := os.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	roots, err := caBundle()
	if err != nil {
		return nil, err
	}
	sbom, err := r.sbom(binary, program)
	if err != nil {
		return nil, err
	}
	var files bytes.Buffer
	w := tar.NewWriter(&files)
	for _, f := range []struct {
		path    string
		mode    int64
		content []byte
	}{
		{"etc/", 0o755, nil},
		{"etc/passwd", 0o644, []byte("nonroot:x:65532:65532:nonroot:/:/sbin/nologin\n")},
		{"etc/ssl/", 0o755, nil},
		{"etc/ssl/certs/", 0o755, nil},
		{"etc/ssl/certs/ca-certificates.crt", 0o644, roots},
		{"usr/", 0o755, nil},
		{"usr/share/", 0o755, nil},
		{"usr/share/sbom/", 0o755, nil},
		{"usr/share/sbom/" + program + ".spdx.json", 0o644, sbom},
		{program, 0o755, content},
	} {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: f.path, Mode: f.mode, Size: int64(len(f.content)), ModTime: r.time, Format: tar.FormatPAX}
		if strings.HasSuffix(f.path, "/") {
			header.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(header); err != nil {
			return nil, fmt.Errorf("packing %s: %w", f.path, err)
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, fmt.Errorf("packing %s: %w", f.path, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("packing: %w", err)
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(files.Bytes())), nil
	}, tarball.WithMediaType(types.OCILayer))
}
