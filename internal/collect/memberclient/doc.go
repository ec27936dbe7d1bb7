// SPDX-License-Identifier: Apache-2.0

// Package memberclient sends the collector's requests to its member. It lists, watches and reads objects, asks which
// kinds and versions the member serves, and tells the time by the member's clock.
//
// A request that is not a watch ends after RequestTimeout. The collector's inflight.Limit learns from every answer.
package memberclient
