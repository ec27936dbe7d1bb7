// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
)

// rare are the metrics that have no series in a scrape of the manager while all is well: metrics of trouble, of collectors inside the
// manager, and one of the host's API server.
var rare = []string{"fairlead_contested_pairs", "fairlead_member_collector_token_expire_timestamp_seconds", "apiserver_admission_webhook_rejection_count"}

// minutes is how long the engine sees the values of a scrape unchanged: it gets one sample for each of these minutes.
const minutes = 20

// sample is one line of a scrape.
type sample struct {
	labels labels.Labels
	value  float64
	// grows is true for counters, and for those of a histogram or a summary.
	grows bool
}

func (s *sample) name() string { return s.labels.Get(model.MetricNameLabel) }

// isNumber reports whether the engine's format for series can have the value.
func (s *sample) isNumber() bool { return !math.IsNaN(s.value) && !math.IsInf(s.value, 0) }

func readScrape(text []byte) (all []sample, err error) {
	p := textparse.NewPromParser(text, labels.NewSymbolTable(), false)
	kind := model.MetricTypeUnknown
	for {
		entry, err := p.Next()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading the scrape: %w", err)
		}
		switch entry {
		case textparse.EntryType: // of the series that follow
			_, kind = p.Type()
		case textparse.EntrySeries:
			s := sample{}
			p.Labels(&s.labels)
			_, _, s.value = p.Series()
			s.grows = kind == model.MetricTypeCounter || kind == model.MetricTypeHistogram || kind == model.MetricTypeSummary && !s.labels.Has("quantile")
			all = append(all, s)
		}
	}
}

// loadOf returns the samples in the format of promtool, as if they had these values for some minutes.
func loadOf(samples []sample) string {
	var b strings.Builder
	b.WriteString("load 1m\n")
	for _, s := range samples {
		if s.isNumber() {
			b.WriteString(seriesOf(s.labels, s.value, 0, minutes))
		}
	}
	return b.String()
}

// seriesOf returns one series in the format of promtool. It begins with a value, and grows by this much in each of these minutes.
func seriesOf(of labels.Labels, value, growth float64, minutes int) string {
	format := func(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
	// Not 0x20 but 0+0x20, because the first is a hexadecimal number.
	return fmt.Sprintf("  %s %s+%sx%d\n", of, format(value), format(growth), minutes)
}

// check evaluates all rules and runs all queries on a scrape. It returns a line for each that does not fit the scrape,
// and the number of queries.
func check(text []byte) (found []string, queries int, err error) {
	samples, err := readScrape(text)
	if err != nil {
		return nil, 0, err
	}
	groups, ruleText, err := readRules()
	if err != nil {
		return nil, 0, err
	}
	dashboards, err := readDashboards()
	if err != nil {
		return nil, 0, err
	}
	e, err := newEngine(loadOf(samples), ruleText)
	if err != nil {
		return nil, 0, err
	}
	defer e.Close() //nolint:errcheck // a database of temporary files
	end, err := e.evaluateFor(minutes * time.Minute)
	if err != nil {
		return nil, 0, err
	}
	known := make(map[string][]string) // the labels of each metric
	member := ""
	for _, s := range samples {
		s.labels.Range(func(l labels.Label) {
			known[s.name()] = append(known[s.name()], l.Name)
		})
		if name := s.labels.Get("member"); name != "" && member == "" {
			member = name
		}
	}
	all := append(queriesOf(groups), queriesOn(dashboards, member)...)
	for _, q := range all {
		if q.record != "" {
			result, err := e.query(q.record, end)
			if err != nil {
				return nil, 0, err
			}
			for _, s := range result {
				s.Metric.Range(func(l labels.Label) { known[q.record] = append(known[q.record], l.Name) })
			}
		}
	}
	for _, q := range all {
		found = append(found, misfits(e, q, known, end)...)
	}
	return found, len(all), nil
}

// misfits returns a line for each reason why a query does not fit the metrics. known has the labels of each metric.
func misfits(e *engine, q query, known map[string][]string, at time.Time) (found []string) {
	metrics, err := selected(q.expr)
	if err != nil {
		return []string{fmt.Sprintf("%s: %v", q.from, err)}
	}
	for name, named := range metrics {
		if slices.Contains(rare, name) {
			continue
		}
		has, exported := known[name]
		if !exported {
			found = append(found, fmt.Sprintf("%s: the manager exports no %s", q.from, name))
			continue
		}
		for _, label := range named {
			if !slices.Contains(has, label) {
				found = append(found, fmt.Sprintf("%s: %s has no label %s", q.from, name, label))
			}
		}
	}
	result, err := e.query(q.expr, at)
	switch {
	case err != nil:
		found = append(found, fmt.Sprintf("%s: %v", q.from, err))
	case len(result) == 0 && !q.mayBeEmpty && len(found) == 0:
		found = append(found, fmt.Sprintf("%s: no result for %s", q.from, q.expr))
	}
	return found
}
