// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"context"
	"fmt"
	"strings"

	"github.com/fairlead-dev/fairlead/internal/sandbox/progress"
)

// buildFlags are the flags of `go build` for every program. `go list` gets the same flags: with others it would look for other packages in Go's
// build cache.
var buildFlags = []string{"-trimpath", "-buildvcs=false"}

// packages are the Go packages of some programs. They tell how far a build has come.
type packages struct {
	of    map[string][]string // by import path of a main package: the import paths of its dependencies, and its own
	built map[string]bool     // by import path: true if Go has built the package, or is building it
}

// listFormat makes `go list -deps` print one line for each package. The fourth field has the dependencies of a main package that the command line
// names; for any other package it is empty.
const listFormat = `{{.ImportPath}}{{"\t"}}{{.Stale}}{{"\t"}}{{.StaleReason}}{{"\t"}}{{if not .DepOnly}}{{join .Deps " "}}{{end}}`

// inCache is the StaleReason of a main package whose program is in Go's build cache. Go calls a program stale until it is installed.
const inCache = "not installed but available in build cache"

// listPackages asks Go for the packages of the programs. Go downloads missing modules for that.
func listPackages(ctx context.Context, source string, programs []target, step *progress.Step) (packages, error) {
	args := append([]string{"list", "-deps", "-f", listFormat}, buildFlags...)
	for _, t := range programs {
		args = append(args, t.pkg)
	}
	fetched := 0
	list, err := runGo(ctx, source, func(line string) bool {
		module, ok := strings.CutPrefix(line, "go: downloading ")
		if ok {
			fetched++
			step.Update("fetching module %d, %s", fetched, module)
		}
		return ok
	}, args...)
	if err != nil {
		return packages{}, fmt.Errorf("finding the packages of the control planes: %w", err)
	}
	return parsePackages(list)
}

// parsePackages parses what `go list` prints with listFormat.
func parsePackages(list string) (packages, error) {
	all := packages{of: map[string][]string{}, built: map[string]bool{}}
	for line := range strings.Lines(list) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(fields) != 4 {
			return packages{}, fmt.Errorf("finding the packages of the control planes: go list printed %q", line)
		}
		path, stale, reason, deps := fields[0], fields[1], fields[2], fields[3]
		all.built[path] = stale == "false" || reason == inCache
		if deps != "" {
			all.of[path] = append(strings.Fields(deps), path)
		}
	}
	return all, nil
}

// begin takes a line of `go build -v`. If the line is the path of one of these packages, begin counts the package as built and returns true. Go
// prints the line when it begins to compile the package, so the count includes packages that Go is still compiling.
func (p packages) begin(line string) bool {
	_, known := p.built[line]
	if known {
		p.built[line] = true
	}
	return known
}

// count returns how many packages Go has built, and how many there are, for all programs together.
func (p packages) count() (built, all int) {
	for _, done := range p.built {
		if done {
			built++
		}
	}
	return built, len(p.built)
}

// countOf returns the same two numbers as the method count, but for one program. pkg is the path of its main package, as in target.
func (p packages) countOf(pkg string) (built, all int) {
	list := p.of[p.mainOf(pkg)]
	for _, path := range list {
		if p.built[path] {
			built++
		}
	}
	return built, len(list)
}

// mainOf returns the import path of a target's main package. The target may name the package relative to the embedded module.
func (p packages) mainOf(pkg string) string {
	if relative, ok := strings.CutPrefix(pkg, "."); ok {
		for path := range p.of {
			if strings.HasSuffix(path, relative) {
				return path
			}
		}
	}
	return pkg
}
