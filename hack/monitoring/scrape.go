// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/rules"
)

// rare are the metrics that have no series while all is well, or if all collectors run outside the manager.
var rare = []string{"fairlead_contested_pairs", "fairlead_member_collector_token_expire_timestamp_seconds"}

// minutes is how long the engine sees the values of a scrape unchanged: it gets one sample for each of these minutes.
const minutes = 20

// engine has the series of a test or a scrape, and evaluates rules on them.
type engine struct {
	*promqltest.LazyLoader
	groups map[string]*rules.Group
}

// newEngine loads series, in the format of promtool, and rules, in the format of a rule file of Prometheus.
func newEngine(series string, ruleText []byte) (*engine, error) {
	loader, err := promqltest.NewLazyLoader(series, promqltest.LazyLoaderOpts{EnableAtModifier: true, EnableNegativeOffset: true})
	if err != nil {
		return nil, fmt.Errorf("loading the series: %w", err)
	}
	dir, err := os.MkdirTemp("", "fairlead-rules-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a folder of temporary files
	file := filepath.Join(dir, "rules.yaml")
	if err := os.WriteFile(file, ruleText, 0o600); err != nil {
		return nil, err
	}
	manager := rules.NewManager(&rules.ManagerOptions{
		QueryFunc:  rules.EngineQueryFunc(loader.QueryEngine(), loader.Storage()),
		Appendable: loader.Storage(),
		Context:    context.Background(),
		NotifyFunc: func(context.Context, string, ...*rules.Alert) {},
		Logger:     promslog.NewNopLogger(),
		Parser:     parser.NewParser(parser.Options{}),
	})
	groups, errs := manager.LoadGroups(time.Minute, labels.EmptyLabels(), "", nil, false, file)
	if len(errs) > 0 {
		return nil, fmt.Errorf("loading the rules: %w", errors.Join(errs...))
	}
	for _, g := range groups {
		for _, r := range g.Rules() {
			if alert, ok := r.(*rules.AlertingRule); ok {
				alert.SetRestored(true)
			}
		}
	}
	return &engine{LazyLoader: loader, groups: groups}, nil
}

// evaluate evaluates all groups for the given time. It goes through the groups in the reverse order of their names, so
// fairlead.rules come before fairlead.alerts.
func (e *engine) evaluate(at time.Time) (err error) {
	names := make([]string, 0, len(e.groups))
	for name := range e.groups {
		names = append(names, name)
	}
	slices.Sort(names)
	slices.Reverse(names)
	e.WithSamplesTill(at, func(loaded error) {
		err = loaded
		for _, name := range names {
			e.groups[name].Eval(e.Context(), at)
			for _, r := range e.groups[name].Rules() {
				if r.LastError() != nil {
					err = errors.Join(err, fmt.Errorf("rule %s: %w", r.Name(), r.LastError()))
				}
			}
		}
	})
	return err
}

func (e *engine) query(expr string, at time.Time) (promql.Vector, error) {
	q, err := e.QueryEngine().NewInstantQuery(e.Context(), e.Queryable(), nil, expr, at)
	if err != nil {
		return nil, err
	}
	defer q.Close()
	result := q.Exec(e.Context())
	if result.Err != nil {
		return nil, result.Err
	}
	switch v := result.Value.(type) {
	case promql.Vector:
		return slices.Clone(v), nil
	case promql.Scalar:
		return promql.Vector{{T: v.T, F: v.V}}, nil
	}
	return nil, fmt.Errorf("the result of %s is neither a vector nor a scalar", expr)
}

// sample is one line of a scrape.
type sample struct {
	labels labels.Labels
	value  float64
}

func readScrape(text []byte) (all []sample, err error) {
	p := textparse.NewPromParser(text, labels.NewSymbolTable(), false)
	for {
		entry, err := p.Next()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading the scrape: %w", err)
		}
		if entry == textparse.EntrySeries {
			s := sample{}
			p.Labels(&s.labels)
			_, _, s.value = p.Series()
			all = append(all, s)
		}
	}
}

// loadOf returns the samples in the format of promtool, as if they had these values for some minutes.
func loadOf(samples []sample) string {
	var b strings.Builder
	b.WriteString("load 1m\n")
	for _, s := range samples {
		if !math.IsNaN(s.value) && !math.IsInf(s.value, 0) {
			// Not 0x20 but 0+0x20, because the first is a hexadecimal number.
			fmt.Fprintf(&b, "  %s %s+0x%d\n", s.labels, strconv.FormatFloat(s.value, 'f', -1, 64), minutes)
		}
	}
	return b.String()
}

// check evaluates all rules and runs all queries on a scrape. It returns a line for each rule or query that does not
// fit the scrape, and the number of queries.
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
	start := time.Unix(0, 0).UTC()
	end := start.Add(minutes * time.Minute)
	for at := start; !at.After(end); at = at.Add(time.Minute) {
		if err := e.evaluate(at); err != nil {
			return nil, 0, err
		}
	}
	known := make(map[string][]string) // the labels of each metric
	member := ""
	for _, s := range samples {
		s.labels.Range(func(l labels.Label) {
			known[s.labels.Get(labels.MetricName)] = append(known[s.labels.Get(labels.MetricName)], l.Name)
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
