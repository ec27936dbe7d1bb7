// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/rules"
)

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

// evaluate evaluates all groups for the time in the argument at. It takes the groups in the reverse order of their names:
// fairlead.rules before fairlead.alerts.
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

// evaluateFor evaluates all groups once a minute, from the first sample on, for this time. It returns the time of the last evaluation.
func (e *engine) evaluateFor(duration time.Duration) (end time.Time, err error) {
	start := time.Unix(0, 0).UTC()
	end = start.Add(duration)
	for at := start; !at.After(end); at = at.Add(time.Minute) {
		if err := e.evaluate(at); err != nil {
			return end, err
		}
	}
	return end, nil
}

// firing returns the alerts that fire since the last evaluation.
func (e *engine) firing() (all []*rules.Alert) {
	for _, g := range e.groups {
		for _, r := range g.Rules() {
			alert, ok := r.(*rules.AlertingRule)
			if !ok {
				continue
			}
			for _, a := range alert.ActiveAlerts() {
				if a.State == rules.StateFiring {
					all = append(all, a)
				}
			}
		}
	}
	return all
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
