// SPDX-License-Identifier: Apache-2.0

// Package version says which build of Fairlead is running: a release sets it at link time, everything else is
// named after the commit it was built from, so that a bug report always leads to a source tree.
package version
