// SPDX-License-Identifier: Apache-2.0

// Package revision computes a wrapper's revision from its spec, and encodes it for the ControllerRevision that stores
// it.
//
// Words: a *revision* is the objects, the overrides and the upgrade of a wrapper at one time. The *history* of a
// wrapper is its stored revisions. A revision that holds a Secret is encrypted, because users with the built-in role
// view can read ControllerRevisions (ADR 11). The *author* of a revision is the user who wrote this content of the
// wrapper (ADR 26).
package revision
