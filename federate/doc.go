// SPDX-License-Identifier: Apache-2.0

// Package federate is the folder of the pure packages, which turn values into values without a client, a clock or a
// context.
//
// A change goes through these packages, called stations, in this order: author, placement, rollout, render, health,
// report. A station imports only stations before it.
//
// The packages marks, digest, revision, retention, approval and messages hold what several stations must agree on, and
// what the packages push and collect below internal must agree on. They import no station.
//
// Words: a *rendering* is the objects of a revision after the overrides for one member. The digests of a rendering and
// of each object are taken before the marks are set. So a wrapper that a person deletes and creates again has the same
// digests.
package federate
