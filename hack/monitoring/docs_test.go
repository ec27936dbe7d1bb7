// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const runbooks = "https://github.com/fairlead-dev/fairlead/blob/main/docs/runbooks/"

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestEveryAlertHasARunbook also checks that each page belongs to an alert, that the overview lists all alerts, and that the end-to-end
// suite makes each one fire.
func TestEveryAlertHasARunbook(t *testing.T) {
	groups, _, err := readRules()
	if err != nil {
		t.Fatal(err)
	}
	overview, faults := read(t, "docs/operations/monitoring.md"), read(t, "test/e2e/alerts_test.go")
	var alerts, pages []string
	for _, group := range groups.Groups {
		for _, rule := range group.Rules {
			if rule.Alert == "" {
				continue
			}
			alerts = append(alerts, rule.Alert)
			if !strings.Contains(faults, rule.Alert) {
				t.Errorf("test/e2e/alerts_test.go has no fault for which %s fires", rule.Alert)
			}
			if severity := rule.Labels["severity"]; severity != "critical" && severity != "warning" {
				t.Errorf("%s has severity %q", rule.Alert, severity)
			}
			if url := rule.Annotations["runbook_url"]; url != runbooks+rule.Alert+".md" {
				t.Errorf("%s has runbook_url %s", rule.Alert, url)
			}
			if row := "| [" + rule.Alert + "](../runbooks/" + rule.Alert + ".md) | " + rule.Labels["severity"] + " |"; !strings.Contains(overview, row) {
				t.Errorf("docs/operations/monitoring.md lacks the row %s", row)
			}
		}
	}
	files, err := filepath.Glob(filepath.Join(root, "docs/runbooks/*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".md")
		pages = append(pages, name)
		text := read(t, "docs/runbooks/"+name+".md")
		for _, heading := range []string{"# " + name, "## What it means", "## Look first", "## What mends it"} {
			if !strings.Contains(text, heading+"\n\n") {
				t.Errorf("page %s lacks the heading %q", name, heading)
			}
		}
		_, look, _ := strings.Cut(text, "## Look first\n\n")
		if !regexp.MustCompile(`(?m)^    (kubectl|hostctl|time kubectl) `).MatchString(look) {
			t.Errorf("page %s has no command", name)
		}
		if regexp.MustCompile(`(?m)^(kubectl|hostctl|time) `).MatchString(look) {
			t.Errorf("page %s has a command that is not indented", name)
		}
	}
	if diff := cmp.Diff(sorted(alerts), sorted(pages)); diff != "" {
		t.Errorf("runbooks (-alerts +pages):\n%s", diff)
	}
}

// TestQueriesUseDocumentedMetrics reads the names in rules and dashboards. A test of package controllers compares the
// documentation with the code, so a query cannot name a metric that does not exist.
func TestQueriesUseDocumentedMetrics(t *testing.T) {
	groups, _, err := readRules()
	if err != nil {
		t.Fatal(err)
	}
	dashboards, err := readDashboards()
	if err != nil {
		t.Fatal(err)
	}
	overview := read(t, "docs/operations/monitoring.md")
	documented := map[string][]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| ([a-z]+) \\| ([^|]*) \\|").FindAllStringSubmatch(overview, -1) {
		labels := strings.Split(strings.ReplaceAll(row[3], "`", ""), ", ")
		names := []string{row[1]}
		if row[2] == "histogram" {
			names, labels = []string{row[1] + "_bucket", row[1] + "_count", row[1] + "_sum"}, append(labels, "le")
		}
		for _, name := range names {
			documented[name] = labels
		}
	}
	var recorded []string
	for _, q := range queriesOf(groups) {
		if q.record != "" {
			recorded = append(recorded, q.record)
			if !strings.Contains(overview, "`"+q.record+"`") {
				t.Errorf("docs/operations/monitoring.md does not list the recording rule %s", q.record)
			}
		}
	}
	for _, q := range append(queriesOf(groups), queriesOn(dashboards, "east")...) {
		metrics, err := selected(q.expr)
		if err != nil {
			t.Errorf("%s: %v", q.from, err)
		}
		for name, labels := range metrics {
			if slices.Contains(recorded, name) {
				continue
			}
			has, ok := documented[name]
			if !ok {
				t.Errorf("%s: neither a rule nor docs/operations/monitoring.md has %s", q.from, name)
			}
			for _, label := range labels {
				if ok && !slices.Contains(has, label) {
					t.Errorf("%s: %s has no label %s", q.from, name, label)
				}
			}
		}
	}
}

func TestDashboards(t *testing.T) {
	dashboards, err := readDashboards()
	if err != nil {
		t.Fatal(err)
	}
	if len(dashboards) != 2 {
		t.Errorf("there are %d dashboards", len(dashboards))
	}
	for name, d := range dashboards {
		if d.UID == "" || d.Title == "" || !strings.HasPrefix(d.UID, "fairlead-") {
			t.Errorf("%s has the uid %q and the title %q", name, d.UID, d.Title)
		}
		text := read(t, "config/dashboards/"+name)
		for _, found := range regexp.MustCompile(`Runbook: ([A-Za-z]+)`).FindAllStringSubmatch(text, -1) {
			read(t, "docs/runbooks/"+found[1]+".md")
		}
		for _, panel := range d.Panels {
			if len(panel.Targets) == 0 {
				t.Errorf("%s: panel %q has no query", name, panel.Title)
			}
		}
		if queries := strings.Count(text, `"expr"`); strings.Count(text, `"uid": "${datasource}"`) < queries {
			t.Errorf("%s: a query has another data source than the variable", name)
		}
	}
}
