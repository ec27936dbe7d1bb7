// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

func TestAnExecutableBecomesALayerAndLeavesNoFileBehind(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	program := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(program, []byte("a program"), 0o600); err != nil {
		t.Fatal(err)
	}
	image, err := withFile(empty.Image, program, "usr/bin/program")
	if err != nil {
		t.Fatal(err)
	}
	content := mutate.Extract(image)
	defer content.Close()
	var found []string
	for files := tar.NewReader(content); ; {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(files)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, fmt.Sprintf("%s %o %s", header.Name, header.Mode, text))
	}
	want := []string{"usr 755 ", "usr/bin 755 ", "usr/bin/program 755 a program"}
	if !slices.Equal(found, want) {
		t.Errorf("the layer has %q, want %q", found, want)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("files are left in the folder for temporary files: %v, %v", left, err)
	}
}
