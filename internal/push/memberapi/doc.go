// SPDX-License-Identifier: Apache-2.0

// Package memberapi has the single requests that a push makes to a member's API server, and what its refusals mean.
//
// Words: *trouble* is what is in the way of one object; the others of a pass go on. An error is *answered* when the API server
// has said its word on this one request; all else is the *wire's*, concerns the member as a whole, and ends the pass.
package memberapi
