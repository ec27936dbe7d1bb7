// SPDX-License-Identifier: Apache-2.0

// Package plane gives the tests of a package real control planes: a bare sandbox. The first test that needs it starts it, and Main takes it
// down at the end. All tests of the package share it, each in namespaces of its own, so the seconds of its start are spent once.
package plane
