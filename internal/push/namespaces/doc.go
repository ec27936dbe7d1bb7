// SPDX-License-Identifier: Apache-2.0

// Package namespaces reads, creates and checks the namespaces of a member into which the host writes.
//
// A namespace is *open* to the host if the member's namespacePolicy is All, or if a label on the namespace says that
// Fairlead created it or that the member's administrator opened it.
//
// Before a pass applies objects, open.go checks that the wrapper's namespace is open, and creates it if it is missing.
// podsecurity.go copies the Pod Security labels of the host's namespace to a new namespace. cache.go remembers which
// namespaces are open, so that not every pass has to read its namespace. namespaces.go makes the requests.
package namespaces
