// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
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

// These are the versions of programs in kind's base image besides Kubernetes. They have to be those of the kind release in the root go.mod.
const (
	containerdVersion  = "v2.3.4"
	runcVersion        = "v1.4.3"
	criToolsVersion    = "v1.36.0"
	cniVersion         = "v1.9.1"
	corednsVersion     = "v1.14.2"
	provisionerVersion = "v0.0.30"
)

// controlPlanesModule is the folder of the control planes' module, relative to the root of the repository.
const controlPlanesModule = "internal/sandbox/binaries/module"

// sources are those inputs of the image that are in this folder. Function inputsOf includes them in its digest.
//
//go:embed *.go go.mod programs
var sources embed.FS

// versions are versions that other modules of this repository require.
type versions struct {
	kubernetes, etcd string // in the control planes' module
	kind             string // in the root module
	kindDir          string // the source of kind in Go's module cache
}

func readVersions(ctx context.Context, root string) (versions, error) {
	var v versions
	module := filepath.Join(root, filepath.FromSlash(controlPlanesModule), "go.mod.txt")
	goMod, err := os.ReadFile(module)
	if err != nil {
		return v, fmt.Errorf("reading the versions of the control planes: %w", err)
	}
	if v.kubernetes = required(string(goMod), "k8s.io/kubernetes"); v.kubernetes == "" {
		return v, fmt.Errorf("%s requires no k8s.io/kubernetes", module)
	}
	v.etcd = required(string(goMod), "go.etcd.io/etcd/server/v3")
	kind, err := goCommand(ctx, root, nil, "list", "-m", "-f", "{{.Version}}", "sigs.k8s.io/kind")
	if err != nil {
		return v, fmt.Errorf("looking for kind in the root go.mod: %w", err)
	}
	v.kind = kind
	v.kindDir, err = download(ctx, "sigs.k8s.io/kind", v.kind)
	return v, err
}

// nodeImage returns the name of the node image, as kind's option --image takes it.
func (v versions) nodeImage() string { return "kindest/node:" + v.kubernetes + "-local" }

func (v versions) String() string {
	return fmt.Sprintf("Kubernetes %s, etcd %s, kind %s, containerd %s, runc %s, CoreDNS %s",
		v.kubernetes, v.etcd, v.kind, containerdVersion, runcVersion, corednsVersion)
}

// required returns the version of a module that a go.mod requires; "" if it does not require the module.
func required(goMod, module string) string {
	for line := range strings.Lines(goMod) {
		fields := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "require "))
		if len(fields) >= 2 && fields[0] == module && strings.HasPrefix(fields[1], "v") {
			return fields[1]
		}
	}
	return ""
}

// inputsOf returns a digest of everything on which the content of the image depends: the version of kind, and files of the repository.
func inputsOf(root, kind string) (string, error) {
	h := sha256.New()
	fmt.Fprintln(h, runtime.Version(), runtime.GOARCH, kind)
	module := os.DirFS(filepath.Join(root, filepath.FromSlash(controlPlanesModule)))
	for _, files := range []fs.FS{sources, module} {
		err := fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || strings.HasSuffix(path, "_test.go") {
				return err
			}
			content, err := fs.ReadFile(files, path)
			fmt.Fprintf(h, "%q %d\n%s", path, len(content), content)
			return err
		})
		if err != nil {
			return "", fmt.Errorf("reading the inputs of the image: %w", err)
		}
	}
	return hex.EncodeToString(h.Sum(nil))[:16], nil
}
