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
	"path/filepath"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out, progress io.Writer) error {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	version := flags.String("version", "", "The version of the release, as in v0.1.0.")
	dir := flags.String("out", "dist", "The folder that the files are written to.")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if err := checkVersion(*version); err != nil {
		return err
	}
	tree, err := readTree(ctx)
	if err != nil {
		return err
	}
	signer, reason := findSigner()
	r := &release{version: *version, commit: tree.commit, time: tree.time, root: tree.root, progress: progress}
	to, err := filepath.Abs(*dir)
	if err != nil {
		return err
	}
	wanted := r.files()
	if signer != nil {
		wanted = append(wanted, sumsFile+signatureSuffix)
	}
	if err := checkFolder(to, wanted); err != nil {
		return err
	}
	if r.staging, err = emptyStaging(to); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(r.staging) }() // if this fails, the next release empties the folder
	if err := r.build(ctx); err != nil {
		return err
	}
	if signer != nil {
		if err := signer.sign(ctx, filepath.Join(r.staging, sumsFile)); err != nil {
			return err
		}
		reason = "signed " + sumsFile
	}
	fmt.Fprintln(progress, "•", reason)
	for _, name := range wanted {
		if err := os.Rename(filepath.Join(r.staging, name), filepath.Join(to, name)); err != nil {
			return err
		}
	}
	fmt.Fprintf(progress, "✓ %s of commit %s, in %s; nothing is tagged or published\n", r.version, r.commit[:12], *dir)
	for _, name := range wanted {
		fmt.Fprintln(out, filepath.Join(*dir, name))
	}
	return nil
}

// release has the values that all files of one release have in common.
type release struct {
	version, commit string
	time            time.Time // the commit's time
	root            string    // the root of the repository
	staging         string    // the folder for the files until all are complete
	progress        io.Writer
}
