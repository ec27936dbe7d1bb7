// SPDX-License-Identifier: Apache-2.0

// Package plane lends the tests of a package real control planes: a bare sandbox that is brought up by
// the first test that asks and taken down with the test binary. Tests share it and stay apart by
// namespaces; that it takes seconds to come up is paid once for each package.
package plane
