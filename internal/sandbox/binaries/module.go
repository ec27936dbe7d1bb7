// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// The pattern names the whole folder, so a new main package in the module is embedded without a change here.
//
//go:embed module
var module embed.FS

// layOut writes the embedded module into dir, under the file names that Go needs.
func layOut(dir string) error {
	return eachFile(func(path string, content []byte) error {
		to := filepath.Join(dir, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		return os.WriteFile(to, content, 0o644)
	})
}

// digest returns a digest of all inputs of a build. It is part of the name of the build's folder.
func digest(files fs.FS, goVersion string, list []target) (string, error) {
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "%s %s/%s\n", goVersion, runtime.GOOS, runtime.GOARCH)
	for _, t := range list {
		_, _ = fmt.Fprintf(h, "%q %q %q\n", t.name, t.pkg, t.ldflags)
	}
	err := walk(files, func(path string, content []byte) error {
		_, _ = fmt.Fprintf(h, "%q %d\n%s", path, len(content), content)
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("reading the embedded module: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil))[:16], nil
}

func eachFile(visit func(path string, content []byte) error) error { return walk(module, visit) }

func walk(files fs.FS, visit func(path string, content []byte) error) error {
	return fs.WalkDir(files, "module", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(files, path)
		if err != nil {
			return err
		}
		return visit(strings.TrimSuffix(strings.TrimPrefix(path, "module/"), ".txt"), content)
	})
}
