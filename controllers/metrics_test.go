// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/fairlead-dev/fairlead/controllers/federated"
	"github.com/fairlead-dev/fairlead/controllers/membercluster"
	"github.com/fairlead-dev/fairlead/controllers/memberreport"
	"github.com/fairlead-dev/fairlead/internal/push"
)

// described matches the text of a *prometheus.Desc, which has no other way to read the name and the labels.
var described = regexp.MustCompile(`fqName: "([a-z_]+)", help: "(.*)", constLabels: \{\}, variableLabels: \{([a-z,]*)\}`)

// TestTheDocumentationListsTheMetrics compares the metrics of all packages, with their types and labels, with the table
// in docs/operations/monitoring.md.
func TestTheDocumentationListsTheMetrics(t *testing.T) {
	text, err := os.ReadFile("../docs/operations/monitoring.md")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(fairlead_[a-z_]+)` \\| ([a-z]+) \\| ([^|]*) \\|").FindAllStringSubmatch(string(text), -1) {
		labels := strings.Split(strings.ReplaceAll(row[3], "`", ""), ", ")
		slices.Sort(labels)
		want[row[1]] = row[2] + " " + strings.Join(labels, ",")
	}
	got := map[string]string{}
	for _, c := range slices.Concat(federated.Metrics(), membercluster.Metrics(), memberreport.Metrics(), push.Metrics()) {
		kind := "gauge" // collectors of our own export gauges only; a counter of them would fail in the end-to-end suite
		switch c.(type) {
		case *prometheus.CounterVec:
			kind = "counter"
		case *prometheus.HistogramVec:
			kind = "histogram"
		}
		descs := make(chan *prometheus.Desc, 10)
		c.Describe(descs)
		close(descs)
		for desc := range descs {
			found := described.FindStringSubmatch(desc.String())
			if found == nil {
				t.Fatalf("the form of %s is unknown", desc)
			}
			labels := strings.Split(found[3], ",")
			slices.Sort(labels)
			got[found[1]] = kind + " " + strings.Join(labels, ",")
			if kind == "counter" != strings.HasSuffix(found[1], "_total") {
				t.Errorf("%s is a %s: only counters end in _total", found[1], kind)
			}
			if !strings.HasSuffix(found[2], ".") || len(found[2]) < 20 {
				t.Errorf("the help text of %s is no sentence: %q", found[1], found[2])
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metrics (-docs/operations/monitoring.md +code):\n%s", diff)
	}
	for _, name := range namedInSource(t) {
		if _, known := got[name]; !known {
			t.Errorf("a Go file names %s, which is in no package that this test knows", name)
		}
	}
}

// namedInSource returns the names of metrics in the Go files, apart from tests.
func namedInSource(t *testing.T) (names []string) {
	t.Helper()
	quoted := regexp.MustCompile(`"(fairlead_[a-z_]+)"`)
	for _, root := range []string{"../internal", "../controllers", "../cmd", "../federate"} {
		err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			for _, found := range quoted.FindAllStringSubmatch(string(text), -1) {
				names = append(names, found[1])
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(names) < 10 {
		t.Fatalf("found only %v", names)
	}
	return names
}
