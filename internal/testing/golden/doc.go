// SPDX-License-Identifier: Apache-2.0

// Package golden compares the output of a test with a file in the folder testdata. `go test PACKAGE -update` writes the
// files of that package again.
//
// The package defines the flag -update, so it exists only in tests of packages that import this one.
package golden
