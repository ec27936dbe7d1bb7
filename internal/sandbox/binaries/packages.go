// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"context"
	"fmt"
	"strings"

	"github.com/fairlead-dev/fairlead/internal/sandbox/progress"
)

// buildFlags and a program's linker flags decide how the program is built. `go list` needs the same flags to find out
// which packages are built.
var buildFlags = []string{"-trimpath", "-buildvcs=false"}

// packages are the Go packages of some programs, and which of them are in Go's build cache.
type packages struct {
	of    map[string][]string // by the import path of a main package: all its packages, itself included
	built map[string]bool     // each package of these programs: Go has built it, or has begun to
}

// listFormat makes `go list -deps` print a line for each package. Only main packages, which were asked for, have the fourth field.
const listFormat = `{{.ImportPath}}{{"\t"}}{{.Stale}}{{"\t"}}{{.StaleReason}}{{"\t"}}{{if not .DepOnly}}{{join .Deps " "}}{{end}}`

// inCache is Go's reason for a main package that is built, but not installed: a program is stale until it is installed.
const inCache = "not installed but available in build cache"

// listPackages asks Go for the packages of the programs. Go fetches their modules first, where it does not have them.
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

// parsePackages reads what `go list` printed with listFormat.
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

// begin marks the package in a line of `go build -v` as built. Go prints that line when it begins to compile the
// package. So the count includes the packages that Go compiles at the moment. begin reports whether the line names a
// package.
func (p packages) begin(line string) bool {
	_, known := p.built[line]
	if known {
		p.built[line] = true
	}
	return known
}

// count counts the packages of all programs.
func (p packages) count() (built, all int) {
	for _, done := range p.built {
		if done {
			built++
		}
	}
	return built, len(p.built)
}

// countOf counts the packages of one program. pkg is the path of its main package, as in a target.
func (p packages) countOf(pkg string) (built, all int) {
	list := p.of[p.mainOf(pkg)]
	for _, path := range list {
		if p.built[path] {
			built++
		}
	}
	return built, len(list)
}

// mainOf returns the import path of a main package. A target names a package of the embedded module relative to the module's folder.
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
