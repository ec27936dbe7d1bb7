// SPDX-License-Identifier: Apache-2.0

// Package render is `hostctl render`: what each member would get of a wrapper. It fetches or reads the
// wrapper and the members, and prints; the rendering is the manager's own, package federate/render, so
// the preview cannot differ from the push.
//
// What is printed are the objects before Fairlead's marks, since their digests are of that. The marks
// are told in comments: one of them names the resource that a member serves the kind as, and that only
// the member knows.
package render
