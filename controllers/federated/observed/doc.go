// SPDX-License-Identifier: Apache-2.0

// Package observed reads what the manager knows about one wrapper on its members. From these values the loop decides what
// to do, and writes the status. The package writes nothing, and sends no request.
package observed
