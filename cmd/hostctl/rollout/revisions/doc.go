// SPDX-License-Identifier: Apache-2.0

// Package revisions reads the revisions of a wrapper from the host, and writes the differences between two of them. A revision with a
// Secret is encrypted, and hostctl shows nothing of it.
package revisions
