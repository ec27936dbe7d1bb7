// SPDX-License-Identifier: Apache-2.0

// Package kept is `hostctl kept`. It lists the objects that stayed on members when wrappers left. No object on the host lists them, so
// hostctl reads the members. It takes an object as kept if the object has the marks of the wrapper, and neither a Delivery
// nor the member's list of shared intents (docs/adr/0023) has the object.
package kept
