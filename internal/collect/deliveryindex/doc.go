// SPDX-License-Identifier: Apache-2.0

// Package deliveryindex holds the Deliveries of one member as the collector knows them, and leads from an object, a resource or
// a kind to the Deliveries that it concerns.
//
// Words. A Delivery *lists* the objects of its inventory. It *uses* the resources of these objects, except Secrets: the
// collector does not read them. It *waits* for a kind that the member did not serve when it was to be pushed. It *subscribes* in
// a namespace where it lists a Subscription of OLM.
package deliveryindex
