// SPDX-License-Identifier: Apache-2.0

// Package render is `hostctl render`. It prints the objects of a wrapper as each member would get them. It reads the wrapper and the
// members from the host or from files. Package federate/render makes the rendering, for this package and for the manager, so the preview
// cannot differ from the push.
//
// The output leaves out Fairlead's marks, because the digests that it prints are those of the objects without marks. A comment above the
// objects describes the marks. hostctl could not print the marks exactly: one of them has the name of the kind's resource, which only the
// member's API server knows.
package render
