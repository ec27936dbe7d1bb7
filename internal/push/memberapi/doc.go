// SPDX-License-Identifier: Apache-2.0

// Package memberapi has the single requests that a push makes to a member's API server, and what its refusals mean.
//
// Words: *trouble* is a problem with one object; the other objects of a pass go on. An error is *answered* when the
// API server has answered this one request. All other errors are errors of the *wire*: they concern the member as a
// whole, and end the pass.
package memberapi
