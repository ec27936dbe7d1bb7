// SPDX-License-Identifier: Apache-2.0

// Package plane gives the tests of one package real control planes: a bare sandbox, that is, control planes without
// Fairlead. The first test that needs the sandbox starts it, and Main takes it down after the last test. All tests of
// the package share the sandbox, so it starts only once. Each test has to work in namespaces of its own.
package plane
