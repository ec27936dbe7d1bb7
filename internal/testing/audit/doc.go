// SPDX-License-Identifier: Apache-2.0

// Package audit reads the audit logs of a sandbox's API servers (Options.Audit), so that tests can count requests. A
// *mark* is a position in a server's log; a test counts the requests after it. The log has each request and its
// response code, but no bodies. The server itself writes it, so no client can hide a request.
package audit
