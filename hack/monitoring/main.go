// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// root is the root of the repository, relative to this folder.
const root = "../.."

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

var (
	errUsage = errors.New("usage: monitoring scrape FILE, or monitoring alerts BEFORE AFTER ALERT…; run it in hack/monitoring")
	errFound = errors.New("the rules or dashboards do not fit the metrics: correct the queries above, or the metrics")
	errFires = errors.New("the alerts that fire are not those on the command line: correct the rules, or the names")
)

func run(args []string, out io.Writer) error {
	switch {
	case len(args) == 2 && args[0] == "scrape":
		return runScrape(args[1], out)
	case len(args) >= 3 && args[0] == "alerts":
		return runAlerts(args[1], args[2], args[3:], out)
	}
	return errUsage
}

func runScrape(file string, out io.Writer) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("reading the scrape: %w", err)
	}
	found, queries, err := check(text)
	if err != nil {
		return err
	}
	for _, line := range found {
		fmt.Fprintln(out, line)
	}
	if len(found) > 0 {
		return errFound
	}
	fmt.Fprintf(out, "%d queries of rules and dashboards have a result\n", queries)
	return nil
}

func runAlerts(before, after string, names []string, out io.Writer) error {
	var scrapes [2][]byte
	for i, file := range []string{before, after} {
		text, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("reading a scrape: %w", err)
		}
		scrapes[i] = text
	}
	firing, err := alertsAfter(scrapes[0], scrapes[1], time.Now())
	if err != nil {
		return err
	}
	for _, line := range linesOf(firing) {
		fmt.Fprintln(out, "fires:", line)
	}
	found, err := compareAlerts(firing, names)
	if err != nil {
		return err
	}
	for _, line := range found {
		fmt.Fprintln(out, line)
	}
	if len(found) > 0 {
		return errFires
	}
	return nil
}
