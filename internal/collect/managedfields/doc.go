// SPDX-License-Identifier: Apache-2.0

// Package managedfields reads from the managedFields of an object what the collector reports about drift: the last writer beside
// Fairlead and the fields it owns, and whether a claim was only expanded. It is pure. What it reads comes from the member, so all
// of it is bounded.
package managedfields
