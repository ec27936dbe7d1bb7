// SPDX-License-Identifier: Apache-2.0

// Package kept is `hostctl kept`: what members keep of a wrapper that has left it behind. Nothing on the host lists it any
// more, so the members are asked: what was kept carries the wrapper's marks, and no Delivery lists it.
package kept
