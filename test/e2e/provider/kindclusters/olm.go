// SPDX-License-Identifier: Apache-2.0

package kindclusters

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/kind/pkg/cluster"

	"github.com/fairlead-dev/fairlead/internal/sandbox/binaries"
	"github.com/fairlead-dev/fairlead/internal/sandbox/demooperator"
	"github.com/fairlead-dev/fairlead/internal/sandbox/progress"
)

// OLMImage is the name of the image with OLM's programs.
const OLMImage = "fairlead/e2e-olm:local"

// OLMMember is the member whose nodes have the images of OLM and the demo operator.
const OLMMember = "member-3"

// loadOLM makes the images of OLM and of each version of the demo operator, and loads them into the nodes of OLMMember.
func loadOLM(ctx context.Context, kind *cluster.Provider, l layout, o Options, p *progress.Printer) error {
	cache, err := os.UserCacheDir()
	if err != nil {
		return err
	}
	programs, err := binaries.Build(ctx, filepath.Join(cache, "fairlead"), binaries.OLMPrograms(), p)
	if err != nil {
		return fmt.Errorf("building OLM: %w", err)
	}
	step := p.Step("%s: loading the images of OLM and the demo operator", OLMMember)
	archive := filepath.Join(o.Fairlead.Images, "e2e-olm.tar")
	if err = olmArchive(ctx, programs, o, archive); err == nil {
		err = load(kind, l, OLMMember, []string{archive})
	}
	if err != nil {
		step.Fail(err)
		return err
	}
	step.Donef("%s: loaded the images of OLM and the demo operator", OLMMember)
	return nil
}

// olmArchive writes the images into one archive. The versions of the demo operator are hostctl with different arguments, so the archive has that
// program once.
func olmArchive(ctx context.Context, programs binaries.Programs, o Options, path string) error {
	var files []string
	for _, name := range binaries.OLMPrograms() {
		files = append(files, programs.Path[name])
	}
	if err := imageFrom(ctx, OLMImage, files, "USER 65532"); err != nil {
		return err
	}
	images := []string{OLMImage}
	for _, version := range demooperator.Versions() {
		image, run := demooperator.Image(version), []string{"/hostctl", "sandbox", "demo-operator", "--version", version}
		err := imageFrom(ctx, image, []string{filepath.Join(o.Fairlead.Programs, "hostctl")}, "USER 65532", `ENTRYPOINT ["`+strings.Join(run, `","`)+`"]`)
		if err != nil {
			return err
		}
		images = append(images, image)
	}
	return saveImages(ctx, path, images...)
}
