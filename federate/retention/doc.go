// SPDX-License-Identifier: Apache-2.0

// Package retention decides which objects stay on a member when their wrapper leaves it.
//
// Package push calls it before it deletes objects, and hostctl calls it to show the author which objects will stay. So
// the manager keeps exactly the objects that hostctl shows.
package retention
