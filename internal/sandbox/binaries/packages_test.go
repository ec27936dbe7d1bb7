// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-dev/fairlead/internal/sandbox/progress"
)

func TestProgressCountsThePackagesOfEachProgram(t *testing.T) {
	list := strings.Join([]string{
		"unsafe\tfalse\t\t",
		"errors\tfalse\t\t",
		"example/api\ttrue\tbuild ID mismatch\t",
		"example/store\ttrue\tstale dependency: example/api\t",
		"example/one\ttrue\tstale dependency: example/api\tunsafe errors example/api",
		"here/two\ttrue\tnot installed but available in build cache\tunsafe errors example/store",
	}, "\n")
	p, err := parsePackages(list)
	if err != nil {
		t.Fatal(err)
	}
	type counts struct{ One, OfOne, Two, OfTwo, All, OfAll int }
	count := func() (c counts) {
		c.One, c.OfOne = p.countOf("example/one")
		c.Two, c.OfTwo = p.countOf("./two")
		c.All, c.OfAll = p.count()
		return c
	}
	if diff := cmp.Diff(counts{2, 4, 3, 4, 3, 6}, count()); diff != "" {
		t.Errorf("packages built and all, before any line of go build (-want +got): %s", diff)
	}
	lines := map[string]bool{"example/api": true, "errors": true, "# example/api": false, "api.go:3:1: syntax error": false, "": false}
	for line, want := range lines {
		if p.begin(line) != want {
			t.Errorf("begin takes %q as the name of a package: %v", line, !want)
		}
	}
	if diff := cmp.Diff(counts{3, 4, 3, 4, 4, 6}, count()); diff != "" {
		t.Errorf("packages built and all, after the line example/api (-want +got): %s", diff)
	}
	if _, err := parsePackages("go: warning: something\n"); err == nil || !strings.Contains(err.Error(), "something") {
		t.Errorf("parsing a line without four fields returned: %v", err)
	}
}

func TestStderrIsReadByLines(t *testing.T) {
	var taken []string
	l := lines{progress: func(line string) bool {
		taken = append(taken, line)
		return strings.HasPrefix(line, "p/")
	}}
	for _, part := range []string{"p/a\np", "/b\n# p/c\nsyn", "tax error\np/d\nlast"} {
		if _, err := l.Write([]byte(part)); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"p/a", "p/b", "# p/c", "syntax error", "p/d"}, taken); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff("# p/c\nsyntax error\nlast", l.rest()); diff != "" {
		t.Error(diff)
	}
}

// TestWhichPackagesGoReportsAsBuilt runs the real go command: the counts depend on what that command prints.
func TestWhichPackagesGoReportsAsBuilt(t *testing.T) {
	unique := rand.Text() // in the source of a package, so that Go's cache does not have the package
	source := t.TempDir()
	for name, content := range map[string]string{
		"go.mod":       "module example.com/m\n\ngo 1.26\n",
		"leaf/leaf.go": "package leaf\n\nconst Text = \"" + unique + "\"\n",
		"good/main.go": "package main\n\nimport \"example.com/m/leaf\"\n\nfunc main() { print(leaf.Text) }\n",
		"bad/main.go":  "package main\n\nimport \"example.com/m/leaf\"\n\nfunc main() { print(leaf.Gone) }\n",
	} {
		path := filepath.Join(source, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	good, bad := target{"good", "./good", stripped}, target{"bad", "./bad", stripped}
	set := Programs{Dir: t.TempDir(), Path: map[string]string{}}
	step := progress.Discard().Step("building")
	defer step.Skip()

	for _, cached := range []bool{false, true} {
		list, err := listPackages(t.Context(), source, []target{good, bad}, step)
		if err != nil {
			t.Fatal(err)
		}
		built, all := list.countOf(good.pkg)
		if leaf := list.built["example.com/m/leaf"]; leaf != cached || (built == all) != cached || all < 10 {
			t.Errorf("with the packages in Go's cache %v: %d of %d packages count as built, package leaf: %v", cached, built, all, leaf)
		}
		clear(set.Path)
		if err := set.buildOne(t.Context(), source, good, list, step); err != nil {
			t.Fatal(err)
		}
		if path := set.Path[good.name]; !executable(path) {
			t.Errorf("with the packages in Go's cache %v: the built program is not at %q", cached, path)
		}
		if built, all := list.countOf(good.pkg); built != all {
			t.Errorf("with the packages in Go's cache %v: after the build %d of %d packages count as built", cached, built, all)
		}
	}

	list, err := listPackages(t.Context(), source, []target{bad}, step)
	if err != nil {
		t.Fatal(err)
	}
	err = set.buildOne(t.Context(), source, bad, list, step)
	if err == nil || !strings.Contains(err.Error(), "leaf.Gone") || strings.Contains(err.Error(), "\nexample.com/m/bad\n") {
		t.Errorf("the error must quote the compiler, and no line of progress: %v", err)
	}
}
