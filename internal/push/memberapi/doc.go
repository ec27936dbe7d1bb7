// SPDX-License-Identifier: Apache-2.0

// Package memberapi sends single requests to a member's API server, and turns the API server's refusals into messages
// for the wrapper's status. It also remembers which kinds the API server serves itself (nativekinds.go).
//
// Words: *trouble* is a problem with one object; the pass goes on with its other objects. An error is *answered* if it
// is the API server's answer to one request, for example a refusal. Every other error concerns the connection or the
// member as a whole, and ends the pass.
package memberapi
