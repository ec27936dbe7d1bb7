// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
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
	errUsage = errors.New("usage: monitoring scrape FILE; run it in hack/monitoring")
	errFound = errors.New("the rules or dashboards do not fit the metrics: correct the queries above, or the metrics")
)

func run(args []string, out io.Writer) error {
	if len(args) != 2 || args[0] != "scrape" {
		return errUsage
	}
	text, err := os.ReadFile(args[1])
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
