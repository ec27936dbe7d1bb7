// SPDX-License-Identifier: Apache-2.0

// Package render is `hostctl render`. It shows the objects of a wrapper as each member would get them. It reads the wrapper and the
// members from the host or from files, and prints. The rendering is that of the manager (package federate/render), so the preview
// cannot differ from the push.
//
// It prints the objects without Fairlead's marks, because the digests are of the objects without them. Comments above each object
// describe the marks: one of them holds the resource under which the member serves the kind, and only the member knows it.
package render
