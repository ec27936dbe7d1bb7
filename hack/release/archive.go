// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// entry is one file of an archive.
type entry struct {
	name    string
	mode    int64
	content []byte
}

// writeTar writes the entries in the order of their names. Each entry gets a fixed owner and the given time. So the result is the same on
// every machine.
func writeTar(w io.Writer, entries []entry, at time.Time) error {
	sorted := slices.SortedFunc(slices.Values(entries), func(a, b entry) int { return strings.Compare(a.name, b.name) })
	t := tar.NewWriter(w)
	for _, e := range sorted {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: e.name, Mode: e.mode, Size: int64(len(e.content)), ModTime: at, Format: tar.FormatPAX}
		if err := t.WriteHeader(header); err != nil {
			return fmt.Errorf("packing %s: %w", e.name, err)
		}
		if _, err := t.Write(e.content); err != nil {
			return fmt.Errorf("packing %s: %w", e.name, err)
		}
	}
	return t.Close()
}

// writeArchive writes entries to a file with the given path. If the path ends in .tar, the file is a tar archive. Otherwise the archive is
// also compressed with gzip.
func writeArchive(to string, entries []entry, at time.Time) (err error) {
	f, err := os.Create(to)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if strings.HasSuffix(to, ".tar") {
		return writeTar(f, entries, at)
	}
	z, err := gzip.NewWriterLevel(f, gzip.BestCompression) // the gzip header has neither a name nor a time
	if err != nil {
		return err
	}
	if err := writeTar(z, entries, at); err != nil {
		return err
	}
	return z.Close()
}

// readFolder returns all files below a folder.
func readFolder(folder string) (entries []entry, err error) {
	err = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		content, err := os.ReadFile(path)
		entries = append(entries, entry{filepath.ToSlash(name), 0o644, content})
		return err
	})
	return entries, err
}

// readTarGz returns all files in a .tar.gz.
func readTarGz(file string) (entries []entry, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", file, err)
	}
	for t := tar.NewReader(z); ; {
		header, err := t.Next()
		if errors.Is(err, io.EOF) {
			return entries, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", file, err)
		}
		content, err := io.ReadAll(t)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", file, err)
		}
		entries = append(entries, entry{header.Name, header.Mode, content})
	}
}
