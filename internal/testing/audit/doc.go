// SPDX-License-Identifier: Apache-2.0

// Package audit reads what the API servers of a sandbox (Options.Audit) say of who asked them for what. A *mark* is a place
// in a server's log from which on requests count. The log says what was asked and how it was answered, no bodies: that is
// what the server itself saw, and no client can hide from it.
package audit
