// SPDX-License-Identifier: Apache-2.0

// Package e2e is the end-to-end suite. Its specs are sentences about a fleet, checked on real control planes.
//
// Words. The *fleet* is a host and three members with OLM, in a sandbox that the suite starts (or in kind, see
// package provider). `fleet.Host` and `fleet.Member("member-1")` are clients with an administrator's rights. A *shop* is a spec's own
// namespace.
//
// Why it is so: a fleet needs a minute to start, so specs share it. Specs wait for most of their time, so the suite runs in two processes
// of ginkgo, and each process has a fleet of its own, in a sandbox of its own. Specs on one fleet run one after the other, and use names
// of their own so that they do not affect each other. What a spec makes outside its fleet (a file, a sandbox) has to be its own, too. A
// spec undoes what it does to a whole member (an outage, an unjoin). Specs
// never sleep: each waits for the condition that it tests. To prove that something does *not* happen, a spec waits for a later event
// (another object arrived, the collector wrote a heartbeat), or counts requests in the API servers' audit logs.
package e2e
