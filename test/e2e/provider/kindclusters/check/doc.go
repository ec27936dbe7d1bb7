// SPDX-License-Identifier: Apache-2.0

// Command check tells what is missing on this machine for clusters of kind: an engine, memory, limits of inotify, node images, kubectl, or
// free names. hack/e2e.sh and hack/skew.sh call it before they build images, which takes minutes.
package main
