// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"sigs.k8s.io/yaml"
)

// rulesFile is the PrometheusRule, relative to the root of the repository.
const rulesFile = "config/prometheus/rules.yaml"

// readRules returns the groups of the PrometheusRule, and their text in the format of Prometheus's own rule files.
func readRules() (*rulefmt.RuleGroups, []byte, error) {
	text, err := os.ReadFile(filepath.Join(root, rulesFile))
	if err != nil {
		return nil, nil, fmt.Errorf("reading the rules: %w", err)
	}
	var object struct {
		Spec any `json:"spec"`
	}
	if err := yaml.Unmarshal(text, &object); err != nil {
		return nil, nil, fmt.Errorf("reading %s: %w", rulesFile, err)
	}
	spec, err := yaml.Marshal(object.Spec)
	if err != nil {
		return nil, nil, fmt.Errorf("reading %s: %w", rulesFile, err)
	}
	groups, errs := rulefmt.Parse(spec, false, model.UTF8Validation, parser.NewParser(parser.Options{}), promslog.NewNopLogger())
	if len(errs) > 0 {
		return nil, nil, fmt.Errorf("reading %s: %w", rulesFile, errs[0])
	}
	return groups, spec, nil
}

// query is a query of a rule or a dashboard.
type query struct {
	// from is the place of the query, for messages.
	from string
	expr string
	// record is the name under which a recording rule stores the result; "" for other queries.
	record string
	// mayBeEmpty is true for alerts and tables: they have no result while all is well.
	mayBeEmpty bool
}

func queriesOf(groups *rulefmt.RuleGroups) (all []query) {
	for _, group := range groups.Groups {
		for _, rule := range group.Rules {
			all = append(all, query{from: "rule " + rule.Record + rule.Alert, expr: rule.Expr, record: rule.Record, mayBeEmpty: rule.Alert != ""})
		}
	}
	return all
}

// dashboard has the fields of a Grafana dashboard that this program reads.
type dashboard struct {
	UID    string `json:"uid"`
	Title  string `json:"title"`
	Panels []struct {
		Type    string   `json:"type"`
		Title   string   `json:"title"`
		Targets []target `json:"targets"`
	} `json:"panels"`
	Templating struct {
		List []struct {
			Name  string `json:"name"`
			Type  string `json:"type"`
			Query any    `json:"query"`
		} `json:"list"`
	} `json:"templating"`
}

type target struct {
	Expr string `json:"expr"`
}

// readDashboards returns the dashboards in config/dashboards, by file name.
func readDashboards() (map[string]dashboard, error) {
	paths, err := filepath.Glob(filepath.Join(root, "config/dashboards/*.json"))
	if err != nil {
		return nil, fmt.Errorf("looking for dashboards in config/dashboards: %w", err)
	}
	if len(paths) == 0 {
		return nil, errors.New("config/dashboards has no dashboard")
	}
	all := make(map[string]dashboard, len(paths))
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("reading a dashboard: %w", err)
		}
		var d dashboard
		if err := json.Unmarshal(text, &d); err != nil {
			return nil, fmt.Errorf("reading %s: %w", path, err)
		}
		all[filepath.Base(path)] = d
	}
	return all, nil
}

// queriesOn returns the queries of the dashboards, with the variables set as Grafana sets them. member is the value of
// variable $member.
func queriesOn(dashboards map[string]dashboard, member string) (all []query) {
	set := strings.NewReplacer("${member}", member, "$member", member, "$__rate_interval", "5m")
	for name, d := range dashboards {
		for _, panel := range d.Panels {
			for _, t := range panel.Targets {
				all = append(all, query{from: fmt.Sprintf("%s, panel %q", name, panel.Title), expr: set.Replace(t.Expr), mayBeEmpty: panel.Type == "table"})
			}
		}
	}
	return all
}

// selected are the metrics that a query selects, each with the labels that the query names for it.
func selected(expr string) (map[string][]string, error) {
	parsed, err := parser.NewParser(parser.Options{}).ParseExpr(expr)
	if err != nil {
		return nil, err
	}
	found := make(map[string][]string)
	parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
		if s, ok := node.(*parser.VectorSelector); ok {
			for _, m := range s.LabelMatchers {
				if m.Name != model.MetricNameLabel {
					found[s.Name] = append(found[s.Name], m.Name)
				}
			}
			found[s.Name] = append(found[s.Name], []string{}...)
		}
		return nil
	})
	return found, nil
}
