// SPDX-License-Identifier: Apache-2.0

// Package recover is `hostctl recover`: what members hold that the host does not remember, and a person's word on whose
// state counts. It reads the host only: what members hold stands in status.orphans of MemberClusters and in the lines of
// wrappers. The word is an Approval; the manager acts on it.
package recover
