// SPDX-License-Identifier: Apache-2.0

// Package memberclient sends the collector's requests to its member: it lists, watches and reads, asks which kinds and versions
// are served, and knows the time by the member's clock.
//
// A request that is not a watch ends after RequestTimeout. Every answer counts for the inflight.Limit of the collector.
package memberclient
