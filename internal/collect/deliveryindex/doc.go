// SPDX-License-Identifier: Apache-2.0

// Package deliveryindex holds the Deliveries of one member as the collector knows them. It finds the Deliveries that an
// object, a resource or a kind concerns.
//
// Words. A Delivery *lists* the objects of its inventory. It *uses* the resources of these objects, except Secrets: the
// collector does not read them. It *waits* for a kind that the member did not serve when the host pushed. It
// *subscribes* in a namespace where it lists a Subscription of OLM.
package deliveryindex
