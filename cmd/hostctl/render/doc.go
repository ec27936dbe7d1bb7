// SPDX-License-Identifier: Apache-2.0

// Package render is `hostctl render`. It shows the objects of a wrapper as each member would get them. It reads the wrapper and the members
// from the host or from files, and prints. Package federate/render makes the rendering, for this package and for the manager,
// so the preview cannot differ from the push.
//
// The output leaves out Fairlead's marks, because the digests of the objects do not include them. A comment above each object describes
// the marks. hostctl cannot print them exactly: one has the name of the kind's resource, which only the member's API server
// knows.
package render
