// SPDX-License-Identifier: Apache-2.0

// Program skew checks that a fleet goes on through upgrades and downgrades of Fairlead, with managers and collectors of two versions at
// the same time. `make skew OLD=COMMIT` builds the earlier version and runs it.
//
// The program starts a fleet of three members at the old version, and then goes through stages (stages.go): each starts some of the programs in
// another version. The fleet is a sandbox, in which the programs are processes (processfleet.go), or clusters of kind, in which they are pods and
// change by `hostctl init` and `hostctl join` (kindfleet.go). While a stage changes programs, users create, change and delete wrappers (users.go). After each stage the program waits
// until all wrappers are Ready, and then compares every member with what the users wrote (compare.go):
//
//   - each object is there as written, its Delivery lists it as Applied with its uid, and nothing else is there;
//   - objects that no user has touched still have the resourceVersion from the end of the first stage, so nothing wrote them;
//   - a Deployment is as at the end of the first stage: its generation, the last write by Fairlead, its pods and their restarts (workload.go);
//   - no list of shared intents is left.
//
// After a failure it saves the managers' logs, the wrappers and the Deliveries in _artifacts/skew/failure (failure.go).
package main
