// SPDX-License-Identifier: Apache-2.0

// Package federate is the folder of the flow's pure packages: values in, values out, without a client, a clock or a
// context.
//
// The steps of the flow, called stations, are in this order: author, placement, rollout, render, health, report. A station
// imports only stations before it. No controller calls rollout yet.
//
// Packages of their own hold what several stations, push and collect must agree on: marks, digest, revision,
// retention, approval and messages. They import no station.
//
// Words: a *rendering* is the objects of a revision with the overrides for one member applied to them. Its digest, and each
// object's, is taken before the marks, so that a wrapper that is created again renders the same.
package federate
