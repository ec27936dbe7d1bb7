// SPDX-License-Identifier: Apache-2.0

// Package deliveryindex holds the Deliveries of one member, as the collector last read them. For an event about an
// object, a resource or a kind, it finds the Deliveries that the event concerns.
//
// Words, all about the inventory (spec.inventory) of a Delivery: a Delivery *lists* the objects of its inventory. It
// *uses* the resources of these objects, except Secrets, which collectors must not read. It *waits* for a kind if the
// member did not serve the kind when the host pushed an object of it. It *subscribes* in a namespace if it lists a
// Subscription of OLM there.
package deliveryindex
