// SPDX-License-Identifier: Apache-2.0

// Package observed reads what the manager knows about one wrapper on its members. The loop decides and reports by these
// values. The package writes nothing, and sends no request.
package observed
