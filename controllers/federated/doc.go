// SPDX-License-Identifier: Apache-2.0

// Package federated is the loop over wrappers, of both scopes.
//
// A reconcile is a pass along the stations: remember (what we wrote last, should the cache lag), sign
// on (finalizer), revise (ControllerRevision), place (decide, and write the decision before anything
// follows from it), render, hand over (to internal/push), publish (status, once).
// It never waits for a member: handing over returns at once, and news from members wakes the wrapper.
//
// Why it is so: a wrapper's reconcile costs the host three writes when it changes (its revision, the
// decision, one status when all is done) and none when it does not. Status is therefore held back
// while pushes are under way: a wrapper is reported at most once in statusInterval until it has come
// to rest.
package federated
