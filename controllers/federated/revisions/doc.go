// SPDX-License-Identifier: Apache-2.0

// Package revisions writes the ControllerRevisions of wrappers on the host.
//
// A Writer writes the revision of one wrapper's present spec, and deletes old ones. History checks, once after the start
// of the manager, the revisions that earlier processes wrote. A revision whose objects include a Secret is encrypted.
package revisions
