// SPDX-License-Identifier: Apache-2.0

// Package golden compares the output of a test with a file in the folder testdata. `go test PACKAGE -update` writes the
// files of that package again.
//
// This package defines the flag -update, so only the tests of packages that import it have the flag.
package golden
