// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const kubernetesModule = "k8s.io/kubernetes"

// isOther reports whether a program belongs to another Kubernetes than that of the control planes' module.
func (set programs) isOther(p program) bool {
	return set.versions.other && strings.HasPrefix(p.pkg, kubernetesModule+"/")
}

// mod is the value of Go's flag -mod for a program. A module that otherKubernetes has made has no go.sum yet, so Go has to write one.
func (set programs) mod(p program) string {
	if set.isOther(p) {
		return "mod"
	}
	return "readonly"
}

// otherKubernetes makes a module that requires the release of Kubernetes that the user asked for, and returns its folder.
func (set programs) otherKubernetes(ctx context.Context) (string, error) {
	version := set.versions.kubernetes
	from, err := download(ctx, kubernetesModule, version)
	if err != nil {
		return "", err
	}
	content, err := os.ReadFile(filepath.Join(from, "go.mod"))
	if err != nil {
		return "", err
	}
	dir := set.work.path("src", "kubernetes@"+version)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	return dir, os.WriteFile(filepath.Join(dir, "go.mod"), []byte(moduleOf(string(content), version)), 0o644)
}

// moduleOf returns the go.mod of a module that requires a release of Kubernetes, whose own go.mod is the parameter kubernetes.
// Kubernetes replaces its libraries by folders that its published module does not have. So moduleOf requires the published libraries:
// k8s.io/api v0.35.4 is that of Kubernetes v1.35.4.
func moduleOf(kubernetes, version string) string {
	numbers := release.FindStringSubmatch(version)
	var b strings.Builder
	fmt.Fprintf(&b, "module github.com/fairlead-dev/fairlead/other-kubernetes\n\ngo 1.26.0\n\nrequire %s %s\n", kubernetesModule, version)
	for line := range strings.Lines(kubernetes) {
		library, folder, replaced := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "replace "), " => ")
		if replaced && strings.HasPrefix(folder, "./staging/") {
			fmt.Fprintf(&b, "require %s v0.%s.%s\n", library, numbers[1], numbers[2])
		}
	}
	return b.String()
}
