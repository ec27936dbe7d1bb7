// SPDX-License-Identifier: Apache-2.0

package kubefed

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

const (
	modulePath = "sigs.k8s.io/kubefed"
	mainPath   = modulePath + "/cmd/controller-manager"
)

// Release is KubeFed at one version: the built controller manager and the files of its module.
type Release struct {
	// Version is the version of KubeFed's module, for example v0.10.0.
	Version string
	// Program is the absolute path of the controller manager.
	Program string
	// dir is the folder of KubeFed's module in Go's module cache. The chart with the CRDs is there.
	dir string
}

// Build builds the controller manager and writes it to the path program. module is the folder of a Go module; Build takes the version
// of KubeFed that this module requires. The first build takes minutes and needs a Go module proxy.
func Build(ctx context.Context, module, program string) (*Release, error) {
	if _, err := os.Stat(filepath.Join(module, "go.mod")); err != nil {
		return nil, fmt.Errorf("the module that builds KubeFed is missing. Run the benchmark in the root of the source tree: %w", err)
	}
	program, err := filepath.Abs(program)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(program), 0o750); err != nil {
		return nil, err
	}
	if _, err := runGo(ctx, module, "mod", "download", modulePath); err != nil {
		return nil, fmt.Errorf("fetching KubeFed's module: %w", err)
	}
	said, err := runGo(ctx, module, "list", "-m", "-json", modulePath)
	if err != nil {
		return nil, fmt.Errorf("looking for KubeFed's module: %w", err)
	}
	var found struct{ Version, Dir string }
	if err := json.Unmarshal(said, &found); err != nil {
		return nil, fmt.Errorf("looking for KubeFed's module: %w", err)
	}
	if found.Dir == "" {
		return nil, fmt.Errorf("module %s %s is not in Go's module cache", modulePath, found.Version)
	}
	// Build under another name and rename: an interrupted build then leaves no broken file under the real name.
	partial := program + ".partial"
	if _, err := runGo(ctx, module, "build", "-trimpath", "-buildvcs=false", "-o", partial, mainPath); err != nil {
		return nil, fmt.Errorf("building KubeFed %s: %w", found.Version, err)
	}
	if err := os.Rename(partial, program); err != nil {
		return nil, err
	}
	return &Release{Version: found.Version, Program: program, dir: found.Dir}, nil
}

// runGo runs the go command in a folder and returns its standard output. It clears GOOS, GOARCH, GOWORK and the like, so that the user's
// environment does not change the build.
func runGo(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=readonly", "GOWORK=off", "GOOS=", "GOARCH=", "CGO_ENABLED=0")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // a killed go command would leave its compilers running
	cmd.WaitDelay = 10 * time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, fmt.Errorf("running go %s: %w\n%s", args[0], err, lastLines(stderr.String(), 20))
	}
	return stdout.Bytes(), nil
}

func lastLines(text string, n int) string {
	all := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(all[max(0, len(all)-n):], "\n")
}

// crds returns the CustomResourceDefinitions of the release's chart.
func (r *Release) crds() ([]*unstructured.Unstructured, error) {
	types, err := r.read("charts/kubefed/crds/crds.yaml")
	if err != nil {
		return nil, err
	}
	core, err := r.read("charts/kubefed/charts/controllermanager/crds/crds.yaml")
	return append(core, types...), err
}

// typeConfigs returns the FederatedTypeConfigs with these names from the release's chart.
func (r *Release) typeConfigs(names ...string) ([]*unstructured.Unstructured, error) {
	all, err := r.read("charts/kubefed/templates/federatedtypeconfig.yaml")
	if err != nil {
		return nil, err
	}
	byName := make(map[string]*unstructured.Unstructured)
	for _, obj := range all {
		byName[obj.GetName()] = obj
	}
	var found []*unstructured.Unstructured
	for _, name := range names {
		obj, ok := byName[name]
		if !ok {
			return nil, fmt.Errorf("the chart of KubeFed %s has no FederatedTypeConfig %q", r.Version, name)
		}
		found = append(found, obj)
	}
	return found, nil
}

// read returns the objects in a YAML file of KubeFed's module. name is the path in the module, with slashes.
func (r *Release) read(name string) ([]*unstructured.Unstructured, error) {
	data, err := os.ReadFile(filepath.Join(r.dir, filepath.FromSlash(name)))
	if err != nil {
		return nil, fmt.Errorf("reading a file of KubeFed %s: %w", r.Version, err)
	}
	var found []*unstructured.Unstructured
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096); ; {
		obj := &unstructured.Unstructured{}
		err := decoder.Decode(obj)
		switch {
		case errors.Is(err, io.EOF):
			return found, nil
		case err != nil:
			return nil, fmt.Errorf("reading %s of KubeFed %s: %w", name, r.Version, err)
		case len(obj.Object) > 0:
			found = append(found, obj)
		}
	}
}
