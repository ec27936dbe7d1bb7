// SPDX-License-Identifier: Apache-2.0

// Package evidence makes the evidence about an object that is not healthy from what the collector reads on the member: events, pods,
// and the ends of logs. The collector writes the evidence into the status of the Delivery.
//
// Of makes the evidence of one object. It joins events that say the same about different objects into one: for example, if none of a
// Deployment's pods can be scheduled, their events differ only in the names of the pods. Pick chooses the containers whose logs are worth
// reading. Bound takes the evidence of all objects of a Delivery and cuts it to the size that a Delivery may have.
//
// Answer makes the evidence for which a person asks, even about a healthy object: its events, or the logs of its containers, which PickAll
// chooses. BoundAnswers cuts the answers of a Delivery. Answers have limits of their own, so they take no room from the evidence about
// unhealthy objects.
//
// Every text comes from the member. The package removes escape sequences and control characters, which could hide a secret, then redacts the
// text (package redact), and cuts it last: a cut secret is harder to recognize. Names are not redacted. The result always satisfies the schema
// of Deliveries, because the API server refuses a status as a whole.
//
// Sizes. An object has at most 20 events, 8 containers, and 8 KiB of logs, of which one log has 4 KiB at most. As JSON, an object has at
// most 16 KiB, and all objects of a Delivery have 32 KiB. These two limits are for the encoded JSON: there, a quotation mark or a "<" of a
// log takes up to six bytes, and the host bounds what it reads of a member by bytes. The logs in one answer have at most 32 KiB, and all
// answers of a Delivery at most 64 KiB.
package evidence
