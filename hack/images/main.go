// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/v1"
)

// programs are the programs that get an image. Each is a folder below cmd/.
var programs = []string{"manager", "collector", "hostctl"}

// architectures are the architectures for which the command builds images by default.
var architectures = []string{"amd64", "arm64"}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stderr); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return
		}
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, progress io.Writer) error {
	if len(args) > 0 && args[0] == "binary" {
		return runBinary(ctx, args[1:])
	}
	flags := flag.NewFlagSet("images", flag.ContinueOnError)
	root := flags.String("root", ".", "The root of the repository.")
	out := flags.String("out", "_artifacts/images", "The folder that the images are written to.")
	push := flags.String("push", "", "REGISTRY/PREFIX to push to, for example registry.example.com/fairlead; empty pushes nothing.")
	name := flags.String("version", "", "The version that the binaries report. It is also the tag of the images.")
	commit := flags.String("commit", "", "The hash of the commit from which the images are built.")
	arch := flags.String("arch", strings.Join(architectures, ","), "The architectures to build for.")
	seconds := flags.Int64("time", 0, "The time of the commit, in seconds since 1970. Every file in the images gets it.")
	if err := flags.Parse(args); err != nil {
		return err
	}
	architectures := strings.Split(*arch, ",")
	r := buildInfo{version: *name, commit: *commit, time: time.Unix(*seconds, 0).UTC()}
	if r.version == "" || r.commit == "" || *seconds <= 0 {
		return errors.New("--version, --commit and --time are needed; run `make images`, which sets them")
	}
	indexes := make(map[string]v1.ImageIndex, len(programs))
	images := make(map[string]v1.Image, len(programs)*len(architectures))
	for _, program := range programs {
		byArch := make(map[string]v1.Image, len(architectures))
		for _, arch := range architectures {
			began := time.Now()
			image, err := r.image(ctx, *root, program, arch)
			if err != nil {
				return fmt.Errorf("building the image of %s for linux/%s: %w", program, arch, err)
			}
			fmt.Fprintf(progress, "✓ %s for linux/%s (%.0f s)\n", program, arch, time.Since(began).Seconds())
			byArch[arch], images[archive(program, arch)] = image, image
		}
		index, err := r.index(program, byArch)
		if err != nil {
			return fmt.Errorf("joining the images of %s: %w", program, err)
		}
		indexes[program] = index
	}
	if err := r.write(*out, indexes, images, progress); err != nil {
		return fmt.Errorf("writing the images to %s: %w", *out, err)
	}
	if *push == "" {
		return nil
	}
	return r.push(ctx, *push, indexes, progress)
}
