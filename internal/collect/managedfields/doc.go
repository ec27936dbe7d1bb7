// SPDX-License-Identifier: Apache-2.0

// Package managedfields reads from an object's managedFields what the collector reports about drift. That is the last
// writer other than Fairlead, the fields that it owns, and whether a claim was only expanded. The package is pure. The
// text comes from the member, so the package bounds all of it.
package managedfields
