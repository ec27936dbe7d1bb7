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
	"regexp"
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

// versions are the versions of the image's programs that this repository does not pin in constants.
type versions struct {
	kubernetes string // in the control planes' module, unless the user asks for another one
	other      bool   // whether kubernetes is a version that the user asked for, and not that of the control planes' module
	etcd       string // in the control planes' module
	kind       string // in the root module
	kindDir    string // the source of kind in Go's module cache
}

// readVersions reads the versions that the repository requires. If kubernetes is not "", it takes the place of the version of Kubernetes
// that the control planes' module requires.
func readVersions(ctx context.Context, root, kubernetes string) (versions, error) {
	var v versions
	module := filepath.Join(root, filepath.FromSlash(controlPlanesModule), "go.mod.txt")
	goMod, err := os.ReadFile(module)
	if err != nil {
		return v, fmt.Errorf("reading the versions of the control planes: %w", err)
	}
	if v.kubernetes = required(string(goMod), "k8s.io/kubernetes"); v.kubernetes == "" {
		return v, fmt.Errorf("%s requires no k8s.io/kubernetes", module)
	}
	if kubernetes != "" && kubernetes != v.kubernetes {
		if !release.MatchString(kubernetes) {
			return v, fmt.Errorf("%q is no release of Kubernetes: give a version like %s", kubernetes, v.kubernetes)
		}
		v.kubernetes, v.other = kubernetes, true
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

// release is the version of a release of Kubernetes, for example v1.35.4. Its groups are the numbers of minor and patch.
var release = regexp.MustCompile(`^v1\.([0-9]+)\.([0-9]+)$`)

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

// inputsOf returns a digest of everything on which the content of the image depends: versions, and files of the repository.
func inputsOf(root string, v versions) (string, error) {
	h := sha256.New()
	fmt.Fprintln(h, runtime.Version(), runtime.GOARCH, v.kind, v.kubernetes)
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
