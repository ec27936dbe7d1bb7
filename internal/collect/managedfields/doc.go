// SPDX-License-Identifier: Apache-2.0

// Package managedfields reads the managedFields of an object for reports about drift: which client other than Fairlead
// wrote the object last, which fields that client owns, and whether a claim differs only because it was expanded. The
// package is pure. It limits how much of the managedFields it reads and returns, because they come from the member.
package managedfields
