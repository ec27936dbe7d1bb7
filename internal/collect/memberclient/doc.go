// SPDX-License-Identifier: Apache-2.0

// Package memberclient sends the collector's requests to its member. It lists, watches and reads objects, asks which
// kinds and versions the member serves, and estimates the time by the member's clock.
//
// Each request except a watch ends after RequestTimeout. The package reports the answers and the failures to the
// collector's inflight.Limit, which decides how many Deliveries the collector may check at the same time.
package memberclient
