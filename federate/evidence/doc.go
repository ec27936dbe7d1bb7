// SPDX-License-Identifier: Apache-2.0

// Package evidence makes the evidence about an object that is not healthy from what the collector reads on the member: events, pods,
// and the ends of logs. The collector writes the evidence into the status of the Delivery.
//
// Of makes the evidence of one object. It folds events that differ only in names, addresses and numbers into one, with a count: a
// Deployment's pods that cannot be scheduled differ only in their names. Pick chooses the containers whose logs are worth reading.
// Bound takes the evidence of all objects of a Delivery and cuts it to the size that a Delivery may have.
//
// Every text comes from the member. The package removes escape sequences and control characters, which could hide a secret, then redacts the
// text (package redact), and cuts it last: a cut secret is harder to recognize. Names are not redacted. The result always satisfies the schema
// of Deliveries, because the API server refuses a status as a whole.
//
// Sizes. An object has at most 20 events, 8 containers, and 8 KiB of logs, of which one log has 4 KiB at most. As JSON, an object has at
// most 16 KiB, and all objects of a Delivery together have at most 32 KiB. The sizes of JSON count, because a quotation mark or a "<" in
// a log takes up to six bytes there, and the host bounds what it reads of a member by bytes.
package evidence
