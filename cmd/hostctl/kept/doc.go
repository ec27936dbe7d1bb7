// SPDX-License-Identifier: Apache-2.0

// Package kept is `hostctl kept`. It lists the objects that stayed on members when wrappers left. No object on the host lists them, so
// hostctl reads the members. It takes an object as kept if the object has the marks of the wrapper, and no Delivery lists the
// object.
package kept
