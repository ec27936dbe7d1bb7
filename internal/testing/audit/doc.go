// SPDX-License-Identifier: Apache-2.0

// Package audit reads the audit logs of a sandbox's API servers (sandbox option Audit), so that tests can count
// requests. A *mark* is a position in the log of one server. A test takes a mark, and later counts the requests that
// the server logged after the mark. The log has each request and the code of its response, but no bodies. The server
// writes the log, so the test sees every request, whichever client sent it.
package audit
