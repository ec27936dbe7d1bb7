// SPDX-License-Identifier: Apache-2.0

// Package kept is `hostctl kept`. It lists the objects that a wrapper left behind on members. The host no longer lists them, so the
// command reads the members: a kept object carries the wrapper's marks, and no Delivery lists it.
package kept
