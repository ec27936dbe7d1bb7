// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"
)

// runBinary is the command `images binary`. It builds one program for one platform into the file TO, and writes its SBOM to TO.spdx.json.
func runBinary(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("images binary", flag.ContinueOnError)
	root := flags.String("root", ".", "The root of the repository.")
	program := flags.String("program", "", "The folder below cmd/ that is built.")
	goos := flags.String("os", "", "The operating system to build for.")
	arch := flags.String("arch", "", "The architecture to build for.")
	to := flags.String("to", "", "The file to write.")
	name := flags.String("version", "", "The version that the binary reports.")
	commit := flags.String("commit", "", "The commit that is built.")
	seconds := flags.Int64("time", 0, "The time of the commit, in seconds since 1970.")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *program == "" || *goos == "" || *arch == "" || *to == "" || *name == "" || *seconds <= 0 {
		return errors.New("--program, --os, --arch, --to, --version and --time are needed; run `make release`, which sets them")
	}
	r := buildInfo{version: *name, commit: *commit, time: time.Unix(*seconds, 0).UTC()}
	if err := r.compile(ctx, *root, *program, *goos, *arch, *to); err != nil {
		return err
	}
	sbom, err := r.sbom(*to, *program)
	if err != nil {
		return err
	}
	if err := os.WriteFile(*to+".spdx.json", sbom, 0o644); err != nil { //nolint:gosec // an SBOM is no secret
		return fmt.Errorf("writing the SBOM: %w", err)
	}
	return nil
}
