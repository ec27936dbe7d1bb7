// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The scrape lacks most metrics, so the check has to name each query that does not fit.
func TestTheCheckNamesWhatTheManagerDoesNotExport(t *testing.T) {
	found, queries, err := check([]byte("# TYPE fairlead_pairs gauge\nfairlead_pairs{member=\"east\",state=\"Healthy\"} 0\n"))
	if err != nil {
		t.Fatal(err)
	}
	if queries < 30 {
		t.Errorf("only %d queries were checked", queries)
	}
	for _, want := range []string{
		"rule FairleadPushQueueNotDraining: the manager exports no fairlead_push_queue_depth",
		"rule member:fairlead_pushes:rate5m: the manager exports no fairlead_pushes_total",
		`fleet.json, panel "Leaders": the manager exports no leader_election_master_status`,
		`member.json, panel "Pushes stopped": the manager exports no fairlead_pushes_stopped`,
	} {
		if !slices.Contains(found, want) {
			t.Errorf("the check did not print %q", want)
		}
	}
	if slices.ContainsFunc(found, func(line string) bool { return strings.Contains(line, "fairlead_pairs") }) {
		t.Errorf("the check complains of a metric that is exported: %v", found)
	}
}

func TestMisfits(t *testing.T) {
	e, err := newEngine("load 1m\n  m{member=\"east\"} 0+0x5\n", []byte("groups: []"))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close() //nolint:errcheck // a database of temporary files
	known := map[string][]string{"m": {"member"}}
	at := time.Unix(0, 0).Add(2 * time.Minute)
	e.WithSamplesTill(at, func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	})
	for name, tc := range map[string]struct {
		query query
		want  []string
	}{
		"a query with a result":                 {query: query{expr: "m"}},
		"a label that the metric does not have": {query: query{from: "x", expr: `sum(m{cluster="east"}) or vector(0)`}, want: []string{"x: m has no label cluster"}},
		"no result":                             {query: query{from: "x", expr: `m{member="west"}`}, want: []string{`x: no result for m{member="west"}`}},
		"an alert may have no result":           {query: query{expr: "m > 0", mayBeEmpty: true}},
		"an unknown metric":                     {query: query{from: "x", expr: "rate(n[5m])"}, want: []string{"x: the manager exports no n"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, misfits(e, tc.query, known, at)); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
		})
	}
}
