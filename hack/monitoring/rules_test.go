// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"
	"sigs.k8s.io/yaml"
)

// ruleTest is one test in testdata/rules.yaml. The fields are those of promtool.
type ruleTest struct {
	Name     string `json:"name"`
	Interval string `json:"interval"`
	Series   []struct {
		Series string `json:"series"`
		Values string `json:"values"`
	} `json:"input_series"`
	Alerts []struct {
		EvalTime string `json:"eval_time"`
		Name     string `json:"alertname"`
		Expected []struct {
			Labels map[string]string `json:"exp_labels"`
		} `json:"exp_alerts"`
	} `json:"alert_rule_test"`
	Exprs []struct {
		Expr     string `json:"expr"`
		EvalTime string `json:"eval_time"`
		Expected []struct {
			Labels string  `json:"labels"`
			Value  float64 `json:"value"`
		} `json:"exp_samples"`
	} `json:"promql_expr_test"`
}

func readRuleTests(t *testing.T) []ruleTest {
	t.Helper()
	text, err := os.ReadFile("testdata/rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Tests []ruleTest `json:"tests"`
	}
	if err := yaml.UnmarshalStrict(text, &file); err != nil {
		t.Fatal(err)
	}
	return file.Tests
}

func minuteOf(t *testing.T, text string) time.Time {
	t.Helper()
	d, err := model.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return time.Unix(0, 0).UTC().Add(time.Duration(d))
}

func TestRules(t *testing.T) {
	_, text, err := readRules()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range readRuleTests(t) {
		t.Run(test.Name, func(t *testing.T) { test.run(t, text) })
	}
}

func (test ruleTest) run(t *testing.T, ruleText []byte) {
	var load strings.Builder
	fmt.Fprintf(&load, "load %s\n", test.Interval)
	for _, s := range test.Series {
		fmt.Fprintf(&load, "  %s %s\n", s.Series, s.Values)
	}
	e, err := newEngine(load.String(), ruleText)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close() //nolint:errcheck // a database of temporary files
	start, step, end := minuteOf(t, "0s"), minuteOf(t, test.Interval).Sub(minuteOf(t, "0s")), time.Time{}
	for _, a := range test.Alerts {
		end = later(end, minuteOf(t, a.EvalTime))
	}
	for _, x := range test.Exprs {
		end = later(end, minuteOf(t, x.EvalTime))
	}
	for at := start; !at.After(end); at = at.Add(step) {
		if err := e.evaluate(at); err != nil {
			t.Fatal(err)
		}
		for _, a := range test.Alerts {
			if minuteOf(t, a.EvalTime).Equal(at) {
				var want []string
				for _, x := range a.Expected {
					want = append(want, fmt.Sprint(x.Labels))
				}
				if diff := cmp.Diff(sorted(want), sorted(firing(t, e, a.Name))); diff != "" {
					t.Errorf("%s after %s (-want +got):\n%s", a.Name, a.EvalTime, diff)
				}
			}
		}
	}
	for _, x := range test.Exprs {
		got, err := e.query(x.Expr, minuteOf(t, x.EvalTime))
		if err != nil {
			t.Fatal(err)
		}
		var want, have []string
		for _, s := range x.Expected {
			l, err := parser.NewParser(parser.Options{}).ParseMetric(s.Labels)
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, fmt.Sprintf("%s %g", l, s.Value))
		}
		for _, s := range got {
			have = append(have, fmt.Sprintf("%s %g", s.Metric, math.Round(s.F*1e6)/1e6))
		}
		if diff := cmp.Diff(sorted(want), sorted(have)); diff != "" {
			t.Errorf("%s after %s (-want +got):\n%s", x.Expr, x.EvalTime, diff)
		}
	}
}

// firing returns the labels of an alert's firing instances. It fails if the text of an instance does not name its
// member, or has an error of the template in it.
func firing(t *testing.T, e *engine, name string) (all []string) {
	t.Helper()
	for _, a := range e.firing() {
		labels := a.Labels.Map()
		if labels["alertname"] != name {
			continue
		}
		delete(labels, "alertname")
		all = append(all, fmt.Sprint(labels))
		for _, kind := range []string{"summary", "description"} {
			if said := a.Annotations.Get(kind); !strings.Contains(said, labels["member"]) || strings.Contains(said, "<") || said == "" {
				t.Errorf("%s of %s: %q", kind, name, said)
			}
		}
	}
	return all
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func sorted(lines []string) []string {
	slices.Sort(lines)
	return lines
}

func TestEveryRuleIsTested(t *testing.T) {
	groups, _, err := readRules()
	if err != nil {
		t.Fatal(err)
	}
	fires, rests, measured := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, test := range readRuleTests(t) {
		for _, a := range test.Alerts {
			if len(a.Expected) > 0 {
				fires[a.Name] = true
			} else {
				rests[a.Name] = true
			}
		}
		for _, x := range test.Exprs {
			measured[x.Expr] = measured[x.Expr] || len(x.Expected) > 0
		}
	}
	for _, group := range groups.Groups {
		for _, rule := range group.Rules {
			switch {
			case rule.Record != "" && !measured[rule.Record]:
				t.Errorf("testdata/rules.yaml tests no value of %s", rule.Record)
			case rule.Alert != "" && (!fires[rule.Alert] || !rests[rule.Alert]):
				t.Errorf("testdata/rules.yaml needs a test in which %s fires, and one in which it does not", rule.Alert)
			}
		}
	}
}
