// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/rules"
)

// longestRange is longer than the range of each query in the rules.
const longestRange = 15 * time.Minute

// alertsAfter returns the alerts that fire if the fleet stays as two scrapes of the manager show it, with text before and text after.
// A gauge keeps its value in after. A counter grows in each minute by what it grew between the two scrapes. An empty scrape is that
// of a manager that does not answer. now is the time of the scrapes, for gauges that are timestamps.
func alertsAfter(before, after []byte, now time.Time) ([]*rules.Alert, error) {
	earlier, err := readScrape(before)
	if err != nil {
		return nil, err
	}
	later, err := readScrape(after)
	if err != nil {
		return nil, err
	}
	groups, ruleText, err := readRules()
	if err != nil {
		return nil, err
	}
	duration := longestRange
	for _, group := range groups.Groups {
		for _, rule := range group.Rules {
			duration = max(duration, longestRange+time.Duration(rule.For))
		}
	}
	e, err := newEngine(lasting(earlier, later, now, int(duration/time.Minute)), ruleText)
	if err != nil {
		return nil, err
	}
	defer e.Close() //nolint:errcheck // a database of temporary files
	if _, err := e.evaluateFor(duration); err != nil {
		return nil, err
	}
	return e.firing(), nil
}

// lasting returns the series of the later scrape in the format of promtool, as if what happened between the scrapes went on for some
// minutes.
func lasting(earlier, later []sample, now time.Time, minutes int) string {
	was := make(map[string]float64, len(earlier))
	for i := range earlier {
		was[earlier[i].labels.String()] = earlier[i].value
	}
	var b strings.Builder
	b.WriteString("load 1m\n")
	for i := range later {
		s := &later[i]
		start, growth := s.value, 0.0
		switch {
		case !s.isNumber():
			continue
		case s.grows:
			start = was[s.labels.String()] // zero for a new series
			if start > s.value {           // the manager was restarted
				start = 0
			}
			growth = s.value - start
		case strings.HasSuffix(s.name(), "_timestamp_seconds"):
			start -= float64(now.Unix()) // the engine's clock begins at zero
		}
		b.WriteString(seriesOf(s.labels, start, growth, minutes))
	}
	return b.String()
}

// compareAlerts compares the alerts that fire with those that have to. A name is that of an alert, optionally with labels that it must
// have: FairleadMemberUnreachable{member="east"}. compareAlerts returns a line for each name that no alert has, and a line for each
// alert that has none of the names.
func compareAlerts(firing []*rules.Alert, names []string) (found []string, err error) {
	named := make([]bool, len(firing))
	for _, name := range names {
		want, err := parser.NewParser(parser.Options{}).ParseMetric(name)
		if err != nil {
			return nil, fmt.Errorf("reading the alert %s: %w", name, err)
		}
		fires := false
		for i, alert := range firing {
			if isNamed(alert, want) {
				named[i], fires = true, true
			}
		}
		if !fires {
			found = append(found, name+" does not fire")
		}
	}
	for i, alert := range firing {
		if !named[i] {
			found = append(found, "not expected: "+lineOf(alert))
		}
	}
	return found, nil
}

// isNamed reports whether an alert has a name and labels.
func isNamed(alert *rules.Alert, want labels.Labels) bool {
	is := true
	want.Range(func(l labels.Label) {
		name := l.Name
		if name == model.MetricNameLabel {
			name = labels.AlertName
		}
		is = is && alert.Labels.Get(name) == l.Value
	})
	return is
}

// lineOf returns the name, the labels and the description of an alert that fires.
func lineOf(alert *rules.Alert) string {
	b := labels.NewBuilder(alert.Labels)
	b.Del(labels.AlertName)
	return fmt.Sprintf("%s%s: %s", alert.Labels.Get(labels.AlertName), b.Labels(), alert.Annotations.Get("description"))
}

// linesOf returns a line for each alert that fires, sorted.
func linesOf(firing []*rules.Alert) (lines []string) {
	for _, alert := range firing {
		lines = append(lines, lineOf(alert))
	}
	slices.Sort(lines)
	return lines
}
