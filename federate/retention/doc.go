// SPDX-License-Identifier: Apache-2.0

// Package retention decides which objects stay on a member when their wrapper leaves it.
//
// Push asks this package before it deletes, and hostctl asks it to tell the author which objects will stay. Both must
// give the same answer.
package retention
