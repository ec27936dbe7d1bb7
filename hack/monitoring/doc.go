// SPDX-License-Identifier: Apache-2.0

// Command monitoring checks the recording rules and alerts in config/prometheus/rules.yaml, and the dashboards in config/dashboards,
// with Prometheus's own engine.
//
//	monitoring scrape FILE                   check against the metrics of a running manager
//	monitoring alerts BEFORE AFTER ALERT…    check which alerts fire during a fault
//
// FILE is the text that the manager serves at /metrics. The command evaluates every rule and runs every query of the dashboards. It
// prints a line for each query that fails, that has no result, or that names a metric or a label that the manager does not export. The
// end-to-end suite calls it with the metrics of its manager.
//
// BEFORE and AFTER are two such texts, some seconds apart; an empty file is that of a manager that does not answer. The command
// evaluates the rules as if what happened between the two went on for longer than each alert waits: gauges stay as they are in AFTER, and counters grow
// in each minute by what they grew from BEFORE to AFTER. It fails unless exactly the named alerts fire. ALERT is a name with or without
// labels, as in FairleadMemberUnreachable{member="east"}. The end-to-end suite calls it while its fleet has real faults.
//
// The tests of this package need no manager. They evaluate every rule on series that testdata/rules.yaml gives, in the format of `promtool test rules`.
//
// Why it is so: promtool can evaluate rules on given series, too. But building it takes several minutes, because it has every service
// discovery of Prometheus compiled in. Building the engine alone takes one to two minutes, once.
package main
